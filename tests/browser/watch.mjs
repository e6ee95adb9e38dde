/**
 * Records what a page could keep or send: every request, every write to a place that outlives the
 * page, every violation of its policy. Writes are seen as they are made and, those of workers too,
 * by what is there in the end.
 */
import assert from 'node:assert/strict';

/** Watches a page; before it goes anywhere. */
export async function watch(page) {
  const seen = { sockets: [], writes: [], addresses: [], violations: [] };
  page.on('websocket', (socket) => seen.sockets.push(socket.url()));
  await page.exposeFunction('seenWrite', (what) => seen.writes.push(what));
  await page.exposeFunction('seenAddress', (address) => seen.addresses.push(address));
  await page.exposeFunction('seenViolation', (what) => seen.violations.push(what));
  await page.addInitScript(report);
  return seen;
}

/** In the page, before its own scripts. */
function report() {
  const wrap = (owner, name, say) => {
    const original = owner?.[name];
    if (original !== undefined) {
      owner[name] = function wrapped(...args) {
        say(...args);
        return original.apply(this, args);
      };
    }
  };
  const write = (what) => (...args) => window.seenWrite([what, ...args.map(String)].join(' '));
  wrap(Storage.prototype, 'setItem', (key, value) => window.seenWrite(`storage ${key}=${value}`));
  wrap(IDBFactory.prototype, 'open', write('indexedDB'));
  wrap(self.CacheStorage?.prototype, 'open', write('caches'));
  wrap(self.StorageManager?.prototype, 'getDirectory', write('files'));
  wrap(self.CookieStore?.prototype, 'set', write('cookieStore'));
  wrap(self.ServiceWorkerContainer?.prototype, 'register', write('serviceWorker'));
  wrap(self.BroadcastChannel?.prototype, 'postMessage', write('broadcast'));
  wrap(Navigator.prototype, 'sendBeacon', write('beacon'));
  wrap(self, 'open', write('window'));
  for (const name of ['RTCPeerConnection', 'WebTransport', 'EventSource', 'SharedWorker']) {
    const Original = self[name];
    if (Original !== undefined) {
      self[name] = new Proxy(Original, {
        construct(target, args) {
          write(name)(...args);
          return new target(...args);
        },
      });
    }
  }
  const cookie = Object.getOwnPropertyDescriptor(Document.prototype, 'cookie');
  Object.defineProperty(document, 'cookie', {
    get: () => cookie.get.call(document),
    set(value) {
      write('cookie')(value);
      cookie.set.call(document, value);
    },
  });
  for (const name of ['pushState', 'replaceState']) {
    wrap(History.prototype, name, (state, _, address) => window.seenAddress(JSON.stringify({ name, state, address: String(address) })));
  }
  document.addEventListener('securitypolicyviolation', (event) => window.seenViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
}

/** What is left in all places that outlive the page: those of its workers are the same. */
export function kept(page) {
  return page.evaluate(async () => {
    const guarded = async (list) => {
      try {
        return await list();
      } catch {
        // A page from a file has no such place.
        return [];
      }
    };
    const files = async () => {
      const names = [];
      for await (const name of (await navigator.storage.getDirectory()).keys()) {
        names.push(name);
      }
      return names;
    };
    return {
      local: await guarded(() => Object.entries(localStorage)),
      session: await guarded(() => Object.entries(sessionStorage)),
      cookie: await guarded(() => document.cookie),
      databases: await guarded(() => indexedDB.databases()),
      caches: await guarded(() => caches.keys()),
      files: await guarded(files),
      workers: await guarded(async () => (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => scope)),
      state: history.state,
      name: window.name,
    };
  });
}

/** Nothing is kept but the two settings, and the address says nothing that stands in a file. */
export async function assertNothingLeft(page, seen) {
  const settings = ['oomscope-folders', 'oomscope-theme'];
  const { local, ...others } = await kept(page);
  assert.deepEqual(local.map(([key]) => key).sort(), settings, 'kept');
  assert.ok(local.every(([, value]) => ['light', 'dark', 'left out', 'named'].includes(value)), JSON.stringify(local));
  const empty = { session: [], databases: [], caches: [], files: [], workers: [], state: null, name: '' };
  assert.deepEqual({ ...others, cookie: String(others.cookie) }, { ...empty, cookie: '' });
  const writes = seen.writes.filter((write) => !/^storage oomscope-(theme|folders)=/.test(write));
  // The last check itself looks into the place for files.
  assert.deepEqual(writes.filter((write) => write !== 'files'), [], 'writes');
  assert.deepEqual(seen.sockets, [], 'sockets');
  assert.deepEqual(seen.violations, [], 'violations of the policy');
  for (const { name, state, address } of seen.addresses.map((text) => JSON.parse(text))) {
    assert.deepEqual([name, state], ['replaceState', null]);
    const [, fragment = ''] = address.split('#');
    for (const [key, value] of new URLSearchParams(fragment)) {
      assert.match(`${key}=${value}`, ADDRESS, address);
    }
  }
}

/** All that an address may say: the file's name, and choices and numbers of the view. */
const ADDRESS =
  /^(file=[\w.]+|device=\d+|picture=(line|heap|addresses)|along=time|(shown|range)=\d+-\d+|entry=\d+|counted=(allocated|freed|live)|only=[a-z_]+|tab=(allocations|steps))$/;
