// Functions of the application that the HTTP server asks.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Definition, HttpEndpoint, HttpService, MisuseError } from 'mcp-sansio';

const definition = Definition.builder('s', '1').tool({ name: 'any' }).build();
const ACCEPT = ['accept', 'application/json, text/event-stream'];
const TYPE = ['content-type', 'application/json'];

function judged(service, headers, principal) {
  return service.judge({ method: 'POST', target: '/mcp', headers: [ACCEPT, TYPE, ...headers], principal });
}

/** Sends a message to the endpoint; gives back who serves it. */
function sent(service, endpoint, message, headers, principal) {
  const request = judged(service, headers, principal);
  request.push(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  request.finish(endpoint.seed());
  return endpoint.admit(request);
}

/** Opens a legacy session, and gives back its name. */
function opened(service, endpoint, headers, principal) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const request = judged(service, headers, principal);
  request.push(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })));
  request.finish(endpoint.seed());
  const { kind, session } = endpoint.admit(request);
  assert.equal(kind, 'session');
  const exchange = session.accept(request);
  for (let action; (action = session.poll()) !== undefined; ) assert.equal(action.exchange, exchange);
  endpoint.exchangeEnded(session);
  return session.id;
}

test('functions say which hosts and origins are welcome', () => {
  const asked = [];
  const service = new HttpService(definition, {
    hosts: (host) => asked.push(host) && host.endsWith('.example'),
    origins: (origin) => asked.push(origin) && origin === 'https://here.example',
  });
  const status = (...headers) => judged(service, headers).response?.status;
  assert.equal(status(['host', 'a.example']), undefined);
  assert.equal(status(['host', 'localhost']), 403);
  assert.equal(status(['host', 'a.example'], ['origin', 'https://here.example']), undefined);
  assert.equal(status(['host', 'a.example'], ['origin', 'https://there.example']), 403);
  assert.deepEqual(asked, ['a.example', 'localhost', 'a.example', 'https://here.example', 'a.example', 'https://there.example']);
});

test('what such a function throws is thrown by the verb that has asked, and nobody was welcome', () => {
  const cause = new Error('the list cannot be read');
  const service = new HttpService(definition, {
    hosts: () => {
      throw cause;
    },
  });
  assert.throws(() => judged(service, [['host', 'localhost']]), (error) => error === cause);
  const other = new HttpService(definition, { hosts: () => undefined });
  assert.equal(judged(other, [['host', 'localhost']]).response.status, 403);
});

test('a function says who may use a session', () => {
  const claims = [];
  let mayUse = () => true;
  const service = new HttpService(definition, {
    hosts: 'any',
    origins: 'any',
    owner: (claim) => claims.push(claim) && mayUse(claim),
  });
  const endpoint = new HttpEndpoint(service);
  const host = ['host', 'localhost'];
  const origin = ['origin', 'https://\u00e9.example'];
  const id = opened(service, endpoint, [host, origin], 'ann');
  const ping = (headers, principal) =>
    sent(service, endpoint, { id: 2, method: 'ping' }, [host, ['mcp-session-id', id], ...headers], principal);
  assert.equal(ping([], 'bob').kind, 'session');
  assert.deepEqual(claims, [
    { session: id, openedBy: 'ann', openedFrom: 'https://\u00e9.example', principal: 'bob', origin: undefined },
  ]);
  mayUse = ({ openedBy, principal }) => openedBy === principal;
  assert.equal(ping([], 'ann').kind, 'session');
  const refused = ping([origin], 'bob');
  assert.deepEqual([refused.kind, refused.response.status], ['answered', 403]);
  mayUse = () => {
    throw new RangeError('not now');
  };
  assert.throws(() => ping([], 'ann'), /not now/);
});

test('whoever asks the endpoint within `owner` is told, and nothing breaks', () => {
  let within = () => {};
  const service = new HttpService(definition, {
    owner: () => {
      within();
      return true;
    },
  });
  const endpoint = new HttpEndpoint(service);
  const host = ['host', 'localhost'];
  const id = opened(service, endpoint, [host]);
  const ping = () => sent(service, endpoint, { id: 2, method: 'ping' }, [host, ['mcp-session-id', id]]);
  for (const verb of [() => endpoint.seed(), () => endpoint.handleTimeout(), () => endpoint.pollTimeout(), () => endpoint.pollExpired(), ping]) {
    within = verb;
    assert.throws(ping, MisuseError);
  }
  within = () => {};
  assert.equal(ping().kind, 'session');
});
