// Prints what a visitor loads: the size of a folder, plain and as brotli.
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");

const folder = process.argv[2];
let plain = 0;
let brotli = 0;
for (const name of fs.readdirSync(folder, { recursive: true })) {
  const file = path.join(folder, name);
  if (!fs.statSync(file).isFile()) continue;
  const bytes = fs.readFileSync(file);
  plain += bytes.length;
  brotli += zlib.brotliCompressSync(bytes).length;
}
const kb = (n) => `${Math.ceil(n / 1000)} kB`;
console.log(`${folder}/: ${kb(plain)}, as brotli ${kb(brotli)}`);
