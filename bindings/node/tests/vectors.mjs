// Plays the files of a folder against the objects of the package.
//
//   node vectors.mjs FOLDER [NAME…]
//
// Each file is played three times: input whole, byte by byte, and with the beginning of the next frame. Ends with 1 and
// a sentence for each file that goes another way. The format is described in FOLDER/README.md.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as mcp from 'mcp-sansio';

import { CLIENT_VERBS, ClientStage } from './player/client.mjs';
import { Fixtures } from './player/fixtures.mjs';
import { HTTP_CLIENT_VERBS, HttpClientStage } from './player/http-client.mjs';
import { HTTP_SERVER_VERBS, Site, SiteStage } from './player/http-server.mjs';
import { SERVER_VERBS, ServerStage } from './player/server.mjs';
import { FEEDS, readFile } from './player/stage.mjs';

const COMMON = ['in', 'out', 'end', 'advance_ms', 'timeout', 'idle', 'quiet', 'diagnostic', 'closed', 'close'];

const PLAYERS = {
  'server stdio': {
    verbs: [...COMMON, ...SERVER_VERBS],
    stage: (file, fixtures, feed) => new ServerStage(mcp, fixtures.server(file.fixture), feed),
  },
  'client stdio': {
    verbs: [...COMMON, ...CLIENT_VERBS],
    stage: (file, fixtures, feed) => new ClientStage(mcp, fixtures.client(file.fixture, file.session?.version), feed),
  },
  'server http': {
    verbs: [...HTTP_SERVER_VERBS, ...COMMON, ...SERVER_VERBS],
    stage: (file, fixtures, feed) => new SiteStage(mcp, new Site(mcp, fixtures.service(file.fixture, file.options)), feed),
  },
  'client http': {
    verbs: [...HTTP_CLIENT_VERBS, ...COMMON, ...CLIENT_VERBS],
    stage: (file, fixtures, feed) =>
      new HttpClientStage(mcp, fixtures.httpClient(file.fixture, file.session?.version, file.options), feed),
  },
};

const [folder, ...only] = process.argv.slice(2);
if (folder === undefined) {
  console.error('node vectors.mjs FOLDER [NAME…]');
  process.exit(2);
}
const fixtures = new Fixtures(mcp, folder);
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const chosen = names.sort().filter((name) => only.length === 0 || only.includes(name.slice(0, -'.json'.length)));
const failures = [];
for (const name of chosen) {
  const text = readFileSync(join(folder, name), 'utf8');
  const { role, transport = 'stdio' } = JSON.parse(text);
  const player = PLAYERS[`${role} ${transport}`];
  for (const feed of FEEDS) {
    try {
      const file = readFile(text, player.verbs);
      player.stage(file, fixtures, feed).play(file);
    } catch (error) {
      failures.push(error.message);
      if (process.env.VECTORS_STACK) console.error(error);
      break;
    }
  }
}
for (const failure of failures) console.error(failure);
console.log(`${chosen.length} vectors, ${FEEDS.length} ways each: ${chosen.length - failures.length} passed, ${failures.length} failed`);
process.exit(failures.length === 0 && chosen.length > 0 ? 0 : 1);
