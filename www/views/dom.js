/** Makes elements. Text goes in as text nodes only, so that nothing in a file can become markup. */

/**
 * An element with properties and children.
 *
 * In `props`, `class` is the class; `on…` are listeners; `vars` are CSS custom properties; `data-…`,
 * `aria-…`, `role` and the like are attributes; an attribute of `true` is empty, one of `false`,
 * null or undefined is left out. Children are nodes, texts, or null for none.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (name === 'vars') {
      setVars(element, value);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...present(children));
  return element;
}

/** Replaces all that is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

/** Sets custom properties through the object model, which a strict policy allows. */
export function setVars(element, vars) {
  for (const [name, value] of Object.entries(vars)) {
    element.style.setProperty(name, value);
  }
}

/** A sentence whose parts between backticks are code. */
export function prose(text) {
  const parts = text.split('`');
  // An odd number of backticks is no markup.
  return parts.length % 2 === 0 ? [text] : parts.map((part, place) => (place % 2 === 1 ? h('code', {}, part) : part));
}

/** A function that runs `draw` once in the next frame, however often it is called. */
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (!asked) {
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        draw();
      });
    }
  };
}

/** Draws a canvas again whose picture the browser lost, as it may when the GPU fails: it comes back empty. */
export function whenRestored(canvas, draw) {
  canvas.addEventListener('contextrestored', draw);
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
