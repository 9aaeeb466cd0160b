// The steps of a client over HTTP.

import { ClientSteps } from './client.mjs';
import { asExpected, compareMembers, headers, headersText, pieces, writeBlock } from './http.mjs';
import { bytesOf, show } from './stage.mjs';
import { CLIENT_VERBS } from './client.mjs';

export const HTTP_CLIENT_VERBS = [
  'supply',
  'fetch',
  'abort',
  'unauthorized',
  'answer',
  'stream',
  'event',
  'comment',
  'finished',
  'in',
  'fail',
  'authorize',
  'refuse_authorization',
  'set_authorization',
  ...CLIENT_VERBS,
];

const JSON_HEADERS = { 'content-type': 'application/json' };
const STREAM_HEADERS = { 'content-type': 'text/event-stream' };

export class HttpClientStage extends ClientSteps {
  fetches = new Map();

  open(version, capabilities) {
    this.machine.connect(this.now);
    const handshake = this.event();
    const { id } = JSON.parse(handshake.body);
    const result = { protocolVersion: version, capabilities, serverInfo: { name: 's', version: '1' } };
    const opened = headers({ ...JSON_HEADERS, 'mcp-session-id': 'session' });
    this.whole(handshake.fetch, 200, opened, Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result })));
    this.whole(this.event().fetch, 202, [], Buffer.alloc(0));
    for (let connected = false; !connected; ) {
      const action = this.event();
      if (action.kind === 'fetch') this.whole(action.fetch, 405, [], Buffer.alloc(0));
      else if (action.kind === 'connected') connected = true;
      else if (action.kind !== 'abort') throw new Error(`instead of a connection: ${show(action)}`);
    }
    for (this.drain(); this.actions.length > 0; this.drain()) {
      const action = this.actions.shift();
      if (action.kind === 'fetch') this.whole(action.fetch, 405, [], Buffer.alloc(0));
      else if (action.kind !== 'abort') throw new Error(`instead of a stream: ${show(action)}`);
    }
  }

  step(step, rest) {
    return step.verb === 'in' ? this.take(step) : super.step(step, rest);
  }

  exchange(tree) {
    const found = this.fetches.get(tree?.value ?? '');
    if (found === undefined) throw new Error(`no exchange is called ${tree?.text}`);
    return found;
  }

  take(step) {
    const { value, more } = step;
    switch (step.verb) {
      case 'fetch': {
        const action = this.event();
        if (action.kind !== 'fetch') throw new Error(`instead of a request: ${show(action)}`);
        this.fetches.set(more.get('as')?.value ?? '', action.fetch);
        return compareMembers(this, value, (member, expected) => {
          switch (member) {
            case 'headers':
              return headersText(action.headers);
            case 'body':
              return asExpected(expected, action.body);
            default:
              return JSON.stringify(action[member]);
          }
        });
      }
      case 'abort': {
        const action = this.event();
        if (action.kind !== 'abort' || action.fetch !== this.exchange(value)) throw new Error(show(action));
        return undefined;
      }
      case 'unauthorized': {
        const action = this.event();
        if (action.kind !== 'unauthorized' || action.fetch !== this.exchange(value)) throw new Error(show(action));
        if (more.has('status')) this.kept.compare(more.get('status').text, String(action.status));
        const wanted = more.get('www_authenticate');
        if (wanted !== undefined) this.kept.compare(wanted.text, JSON.stringify(action.wwwAuthenticate));
        return undefined;
      }
      case 'authorize':
        return this.machine.authorize(this.exchange(value), more.get('with').value, this.now);
      case 'refuse_authorization':
        return this.machine.refuseAuthorization(this.exchange(value), this.now);
      case 'set_authorization':
        return this.machine.setAuthorization(JSON.parse(value.text) ?? undefined, this.now);
      case 'answer': {
        const { status = 200, headers: written } = this.answer(value);
        const body = value.members.get('body');
        const bytes = body === undefined ? Buffer.alloc(0) : bytesOf(body, this.kept);
        const defaults = bytes.length === 0 || written !== undefined ? {} : JSON_HEADERS;
        return this.whole(this.exchange(more.get('of')), status, headers(defaults, written), bytes);
      }
      case 'stream': {
        const { status = 200, headers: written } = this.answer(value);
        const all = headers(written === undefined ? STREAM_HEADERS : {}, written);
        return this.hear(() => this.machine.handleHead(this.exchange(more.get('of')), status, all, this.now));
      }
      case 'event':
        return this.body(this.exchange(more.get('of')), writeBlock(this, value));
      case 'comment':
        return this.body(this.exchange(value), Buffer.from(':\n\n'));
      case 'in':
        return this.body(this.exchange(more.get('of')), bytesOf(value, this.kept));
      case 'finished':
        return this.hear(() => this.machine.handleEnd(this.exchange(value), this.now));
      case 'fail': {
        const why = more.get('why').value;
        return this.hear(() => this.machine.handleFailed(this.exchange(value), why, 'no connection', this.now));
      }
      default:
        return super.take(step);
    }
  }

  answer(tree) {
    const read = (name) => tree.members.get(name) && JSON.parse(this.kept.fill(tree.members.get(name).text));
    return { status: read('status'), headers: read('headers') };
  }

  hear(act) {
    this.tolerant(act);
    this.drain();
  }

  whole(fetch, status, list, bytes) {
    this.hear(() => this.machine.handleHead(fetch, status, list, this.now));
    this.body(fetch, bytes);
    this.hear(() => this.machine.handleEnd(fetch, this.now));
  }

  body(fetch, bytes) {
    for (const piece of pieces(bytes, this.feed)) this.hear(() => this.machine.handleBody(fetch, piece, this.now));
  }
}
