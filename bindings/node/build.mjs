// Builds the package: the native part, the wrapper with its types, and with --pack the tarball.
//
//   node build.mjs [--pack FOLDER]
//
// What cargo builds goes where `CARGO_TARGET_DIR` says, as ever; `dist/` is what is published. `MCP_NODE_MODULES` names
// the folder where the packages of package-lock.json are, unless they are here.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = dirname(fileURLToPath(import.meta.url));
const dist = join(home, 'dist');
const modules = process.env.MCP_NODE_MODULES ?? join(home, 'node_modules');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

function run(program, args) {
  execFileSync(program, args, { cwd: home, stdio: ['ignore', 'inherit', 'inherit'] });
}

function library() {
  const options = { cwd: home, maxBuffer: 1 << 28 };
  const metadata = JSON.parse(execFileSync('cargo', ['metadata', '--format-version', '1', '--no-deps'], options));
  const names = { darwin: 'libmcp_sansio_node.dylib', win32: 'mcp_sansio_node.dll' };
  return join(metadata.target_directory, 'dist', names[process.platform] ?? 'libmcp_sansio_node.so');
}

/** The ES module is the other one under its names, so that a class is one class however it was imported. */
function bridge() {
  const names = Object.keys(createRequire(import.meta.url)(join(dist, 'index.js')));
  const lines = ["import cjs from './index.js';", `export const { ${names.sort().join(', ')} } = cjs;`, ''];
  writeFileSync(join(dist, 'index.mjs'), lines.join('\n'));
  writeFileSync(join(dist, 'index.d.mts'), "export * from './index.js';\n");
}

// What nobody can debug without the sources needs no symbols.
run('cargo', ['rustc', '--profile', 'dist', '--package', 'mcp-sansio-node', '--', '-C', 'strip=symbols']);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const types = ['--typeRoots', join(modules, '@types')];
run(process.execPath, [join(modules, 'typescript/bin/tsc'), '--project', '.', ...types]);
copyFileSync(library(), join(dist, `mcp-sansio.${process.platform}-${process.arch}.node`));
bridge();
const at = process.argv.indexOf('--pack');
if (at > 0) {
  const folder = resolve(process.argv[at + 1]);
  mkdirSync(folder, { recursive: true });
  run(npm, ['pack', '--silent', '--pack-destination', folder]);
}
