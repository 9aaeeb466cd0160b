// Builds the package and tests it as a stranger has it: the tarball is installed into an empty folder outside of the
// tree, and the tests run there.
//
//   node test.mjs

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = dirname(fileURLToPath(import.meta.url));
const modules = resolve(process.env.MCP_NODE_MODULES ?? join(home, 'node_modules'));
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const away = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-sansio-node-')));

function run(program, args, cwd = away) {
  console.log(`  $ ${[program, ...args].join(' ')}`);
  execFileSync(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Runs tests with Node, and gives back how many have passed. */
function counted(args, pattern) {
  console.log(`  $ node ${args.join(' ')}`);
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: away, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
  const [, passed] = pattern.exec(stdout) ?? [];
  if (status !== 0 || passed === undefined) throw new Error(`${stdout}\nthe tests failed`);
  return Number(passed);
}

try {
  run(process.execPath, [join(home, 'build.mjs'), '--pack', away], home);
  const tarball = readdirSync(away).find((name) => name.endsWith('.tgz'));
  writeFileSync(join(away, 'package.json'), '{ "name": "stranger", "private": true }\n');
  run(npm, ['install', '--no-audit', '--no-fund', '--silent', '--offline', `./${tarball}`]);
  for (const folder of ['tests', 'examples']) cpSync(join(home, folder), join(away, folder), { recursive: true });
  cpSync(join(home, '../../tests/vectors'), join(away, 'vectors'), { recursive: true });
  // The clients of others, and the compiler: what a stranger would install beside the package.
  for (const name of ['@modelcontextprotocol', '@types', 'typescript']) {
    symlinkSync(join(modules, name), join(away, 'node_modules', name), 'dir');
  }
  const tests = readdirSync(join(away, 'tests')).filter((name) => /\.test\.[cm]js$/.test(name));
  const files = tests.map((name) => join('tests', name));
  const passed =
    counted(['--expose-gc', '--test', '--test-reporter=tap', ...files], /^# pass (\d+)/m) +
    counted(['tests/vectors.mjs', 'vectors'], /: (\d+) passed/);
  const tsc = join(modules, 'typescript/bin/tsc');
  for (const project of ['examples', 'tests/types']) {
    run(process.execPath, [tsc, '--project', project, '--typeRoots', join(modules, '@types')]);
  }
  // The line that the test command of the project counts.
  console.log(`test result: ok. ${passed} passed; 0 failed`);
} finally {
  rmSync(away, { recursive: true, force: true });
}
