// Builds the package: the native part, the wrapper with its types, and with --pack the tarball.
//
//   node build.mjs [--pack FOLDER] [--no-cargo]
//
// What cargo builds goes where `CARGO_TARGET_DIR` says, as ever; `dist/` is what is published.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = dirname(fileURLToPath(import.meta.url));
const dist = join(home, 'dist');
const run = (program, args) => execFileSync(program, args, { cwd: home, stdio: ['ignore', 'inherit', 'inherit'] });
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

function library() {
  const metadata = execFileSync('cargo', ['metadata', '--format-version', '1', '--no-deps'], {
    cwd: home,
    maxBuffer: 1 << 28,
  });
  const names = { darwin: 'libmcp_sansio_node.dylib', win32: 'mcp_sansio_node.dll' };
  const name = names[process.platform] ?? 'libmcp_sansio_node.so';
  return join(JSON.parse(metadata).target_directory, 'release', name);
}

/** The ES module is the other one under its names, so that a class is one class however it was imported. */
function bridge() {
  const names = Object.keys(createRequire(import.meta.url)(join(dist, 'index.js')));
  const lines = ["import cjs from './index.js';", `export const { ${names.sort().join(', ')} } = cjs;`, ''];
  writeFileSync(join(dist, 'index.mjs'), lines.join('\n'));
  writeFileSync(join(dist, 'index.d.mts'), "export * from './index.js';\n");
}

if (!process.argv.includes('--no-cargo')) run('cargo', ['build', '--release', '--package', 'mcp-sansio-node']);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
run(process.execPath, [join(home, 'node_modules/typescript/bin/tsc'), '--project', '.']);
copyFileSync(library(), join(dist, `mcp-sansio.${process.platform}-${process.arch}.node`));
bridge();
const at = process.argv.indexOf('--pack');
if (at > 0) {
  const folder = resolve(process.argv[at + 1]);
  mkdirSync(folder, { recursive: true });
  run(npm, ['pack', '--pack-destination', folder]);
}
