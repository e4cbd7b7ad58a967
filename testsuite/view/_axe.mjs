// SPDX-License-Identifier: MIT
// What axe-core, which finds what keeps people out, says of all views, light and dark:
//
//     node _axe.mjs CHROMIUM AXE.js FOLDER
//
// Says what is serious or critical; the last line is "done".
import fs from "node:fs";
import path from "node:path";
import {startBrowser} from "./_browser.mjs";
import {generate} from "./_generate.mjs";
import {pageOf} from "./_load.mjs";

const [program, axe, folder] = process.argv.slice(2), file = path.join(folder, "axe.html");
fs.writeFileSync(file, pageOf(generate("small").sections));
const browser = await startBrowser(program);
try {
  for (const dark of [false, true]) {
    const page = await browser.open(file, {dark});
    await page.run(`${fs.readFileSync(axe, "utf8")};0`);
    for (const view of ["overview", "timeline", "flame", "source", "pauses", "tables"]) {
      await page.show(view);
      if (view === "timeline") await page.key("l");
      const found = await page.run(`axe.run(document, {resultTypes: ["violations"]}).then(({violations}) =>
        violations.filter(({impact}) => impact === "serious" || impact === "critical").map(({id, nodes}) => id + ": " + nodes[0].html))`);
      for (const text of found) console.log(`${view}${dark ? ", dark" : ""}: ${text}`);
    }
    await page.close();
  }
  console.log("done");
} finally {
  await browser.end();
}
