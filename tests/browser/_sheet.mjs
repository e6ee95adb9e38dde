import fs from 'node:fs'; import { launch } from './harness.mjs';
// lays pictures side by side on one sheet
const [outFile, width, ...files] = process.argv.slice(2);
const browser = await launch(); const page = await browser.newPage({viewport:{width:Number(width),height:600}});
const tags = files.map(f=>`<img style="display:inline-block;vertical-align:top;margin:4px;max-width:${f.includes('-390-')?390:Math.floor(Number(width)/2-10)}px" src="data:image/png;base64,${fs.readFileSync(f,'base64')}">`).join('');
await page.setContent(`<body style="margin:0;background:#888">${tags}</body>`); await page.waitForTimeout(300);
await page.screenshot({path:outFile,fullPage:true}); await browser.close();
