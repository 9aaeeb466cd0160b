// The machines that files name, made through the objects of the package.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const camel = (object) =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), value]),
  );

export class Fixtures {
  constructor(mcp, folder) {
    this.mcp = mcp;
    this.folder = folder;
    this.read = new Map();
    this.definitions = new Map();
  }

  fixture(name) {
    if (!this.read.has(name)) {
      const text = readFileSync(join(this.folder, 'fixtures', `${name}.json`), 'utf8');
      this.read.set(name, this.mcp.parseJson(text));
    }
    return this.read.get(name);
  }

  definition(name) {
    if (!this.definitions.has(name)) this.definitions.set(name, this.build(this.fixture(name)));
    return this.definitions.get(name);
  }

  build(fixture) {
    const { name, version, ...settings } = fixture;
    const builder = this.mcp.Definition.builder(name, version);
    for (const [setting, value] of Object.entries(settings)) this.set(builder, setting, value);
    return builder.build();
  }

  set(builder, setting, value) {
    const all = (add) => value.forEach((item) => builder[add](item));
    switch (setting) {
      case 'tools':
        return all('tool');
      case 'prompts':
        return all('prompt');
      case 'resources':
        return all('resource');
      case 'templates':
        return all('template');
      case 'methods':
        return all('method');
      case 'notifications':
        return all('notification');
      case 'hand_over':
        return all('handOver');
      case 'dynamic':
        return all('dynamic');
      case 'seal_key':
        return builder.seal(new Uint8Array(32).fill(value));
      case 'extensions':
        return Object.entries(value).forEach(([id, given]) => builder.extension(id, given));
      case 'cache':
        return Object.entries(value).forEach(([what, { ttlMs, cacheScope: scope }]) => {
          const hints = { ttlMs, scope };
          if (what === 'read') builder.cacheReads(hints);
          else if (what === 'discover') builder.cacheDiscover(hints);
          else builder.cache(what, hints);
        });
      case 'limits':
        return builder.limits(camel(value));
      case 'instructions':
        return builder.instructions(value);
      case 'page_size':
        return builder.pageSize(value);
      case 'versions':
        return builder.versions(value);
      case 'send_identity':
        return builder.sendIdentity(value);
      case 'legacy_input':
        return builder.legacyInput(value);
      default: {
        const name = Object.keys(camel({ [setting]: 0 }))[0];
        if (typeof builder[name] !== 'function' || value !== true) throw new Error(`the fixture's ${setting} is unknown`);
        return builder[name]();
      }
    }
  }

  server(name) {
    return new this.mcp.Server(this.definition(name), { seed: new Uint8Array(32).fill(7) });
  }

  config(name, pinned) {
    const { probe_ms: probeMs, limits, ...rest } = this.fixture(name);
    const config = { ...camel(rest), limits: camel(limits ?? {}) };
    if (probeMs !== undefined) config.timeouts = { probeMs };
    if (pinned !== undefined) config.connect = pinned;
    return config;
  }

  client(name, pinned) {
    return new this.mcp.Client(this.config(name, pinned));
  }

  httpClient(name, pinned, options = {}) {
    const { url = 'http://localhost/mcp', ...rest } = camel(options);
    return new this.mcp.HttpClient(this.config(name, pinned), url, rest);
  }

  service(name, options = {}) {
    const { replay, ...rest } = camel(options);
    const all = replay === undefined ? rest : { ...rest, replay: camel(replay) };
    return new this.mcp.HttpService(this.definition(name), all);
  }
}
