// The package as CommonJS, and that it is one with the ES module.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const required = require('mcp-sansio');

test('a class is one class however it was imported', async () => {
  const imported = await import('mcp-sansio');
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());
  for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name);
  assert.ok(!require.resolve('mcp-sansio').includes('bindings'), 'the installed package, not the tree');
});

test('the package depends on nothing', () => {
  const { dependencies, peerDependencies, scripts } = require('mcp-sansio/package.json');
  assert.equal(dependencies, undefined);
  assert.equal(peerDependencies, undefined);
  assert.equal(scripts.install ?? scripts.postinstall, undefined);
});
