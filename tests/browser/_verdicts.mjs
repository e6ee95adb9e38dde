import path from 'node:path'; import fs from 'node:fs';
import { serve } from '../../www/serve.mjs';
import { DIST, launch, opened } from './harness.mjs';
const server = await serve(path.join(DIST, 'site'));
const origin = `http://127.0.0.1:${server.address().port}/`;
const out='/tmp/b/shots/v'; fs.mkdirSync(out,{recursive:true});
const files = fs.readdirSync('/tmp/b/cap').filter(f=>f.includes('.pickle')).sort();
const start=Number(process.argv[2]||0);
const looks=[['light',1440],['dark',1440],['light',390],['dark',390]];
let browser=null; let done=0;
for (let i=start;i<files.length;i++){ if(fs.readdirSync(out).some(f=>f.startsWith(String(i).padStart(2,"0")+"-"))) continue;
  if(browser===null||!browser.isConnected()||done++%8===0){ await browser?.close().catch(()=>{}); browser=await launch(); }
  const [scheme,width]=looks[i%4];
  try{ const context=await browser.newContext({viewport:{width,height:width===390?2200:1500},colorScheme:scheme,reducedMotion:'reduce'});
  const page=await context.newPage(); page.setDefaultTimeout(120000);
  await page.goto(origin); await page.getByTestId('drop').waitFor();
  await page.getByTestId('file-input').setInputFiles('/tmp/b/cap/'+files[i]);
  await opened(page);
  const card=page.locator('section:has([data-test=headline])').first();
  await card.screenshot({path:`${out}/${String(i).padStart(2,'0')}-${files[i].split('.')[0]}-${width}-${scheme}.png`});
  console.log(i,files[i],await page.evaluate(()=>document.documentElement.scrollWidth));
    await context.close();}catch(e){console.log(i,files[i],'FAILED',String(e).slice(0,200));}
}
await browser.close(); server.close();
