// A server over HTTP without sockets: what a front does, and the steps of its files.

import { asExpected, blockText, compareMembers, headers, headersText, pieces, readBlock } from './http.mjs';
import { HANDSHAKE, INITIALIZED, SERVER_VERBS, ServerSteps } from './server.mjs';
import { bytesOf, show } from './stage.mjs';

export const HTTP_SERVER_VERBS = [
  'ask',
  'more',
  'give_up',
  'broken',
  'disconnect',
  'stall',
  'answer',
  'stream',
  'event',
  'comment',
  'finished',
  'close_stream',
  ...SERVER_VERBS,
];

const POST = {
  host: 'localhost',
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const DEFAULTS = { POST, GET: { host: 'localhost', accept: 'text/event-stream' } };

/** A service, its registry, and the machines that they have made: in the order in which they were made. */
export class Site {
  exchanges = new Set();
  sessions = new Set();
  routes = new Map();
  events = [];

  constructor(mcp, service) {
    this.service = service;
    this.endpoint = new mcp.HttpEndpoint(service, { seed: new Uint8Array(32).fill(11) });
  }

  begin(head, now) {
    const ask = { out: [], state: 'waiting', request: this.service.judge(head) };
    this.lead(ask, now);
    return ask;
  }

  push(ask, bytes, now) {
    if (ask.request?.way !== 'body') return;
    ask.request.push(bytes);
    this.lead(ask, now);
  }

  end(ask, now) {
    if (ask.request?.way !== 'body') return;
    ask.request.finish(this.endpoint.seed(), now);
    this.lead(ask, now);
  }

  giveUp(ask, now) {
    if (ask.request?.way !== 'body') return;
    ask.request.giveUp();
    this.lead(ask, now);
  }

  broken(ask, now) {
    if (ask.request?.way !== 'body') return;
    ask.request.broken();
    this.lead(ask, now);
  }

  lead(ask, now) {
    const { request } = ask;
    switch (request.way) {
      case 'answered':
        this.respond(ask, request.response, now);
        break;
      case 'exchange':
        this.route(ask, request.exchange(), 0, now);
        break;
      case 'session':
        this.admit(ask, request, now);
        break;
      default:
    }
  }

  admit(ask, request, now) {
    const admitted = this.endpoint.admit(request, now);
    if (admitted.kind === 'exchange') this.route(ask, admitted.exchange, 0, now);
    else if (admitted.kind === 'session') {
      this.route(ask, admitted.session, admitted.session.accept(request, now), now);
    } else {
      if (admitted.kind === 'ended') this.close(admitted.session, now);
      this.respond(ask, admitted.response, now);
    }
    this.closeExpired(now);
  }

  isSession(machine) {
    return 'accept' in machine;
  }

  route(ask, machine, exchange, now) {
    (this.isSession(machine) ? this.sessions : this.exchanges).add(machine);
    ask.machine = ask.served = machine;
    ask.exchange = exchange;
    if (!this.routes.has(machine)) this.routes.set(machine, new Map());
    this.routes.get(machine).set(exchange, ask);
    this.drain(machine, now);
  }

  close(session, now) {
    session.close(now);
    this.drain(session, now);
  }

  closeExpired(now) {
    for (let session; (session = this.endpoint.pollExpired()) !== undefined; ) this.close(session, now);
  }

  drain(machine, now) {
    for (let action; (action = machine.poll()) !== undefined; ) {
      if (!Object.isFrozen(action)) throw new Error('an action is not frozen');
      this.obey(machine, action, now);
    }
    if (machine.pollTimeout()?.kind === 'actions') throw new Error('the machine is drained, and says it is not');
    if (machine.isClosed && (this.exchanges.has(machine) || this.sessions.has(machine))) this.bury(machine);
  }

  bury(machine) {
    if (this.routes.get(machine)?.size > 0) throw new Error('a machine is over, and a request is not answered');
    if (this.isSession(machine)) {
      this.sessions.delete(machine);
      this.endpoint.remove(machine);
    } else {
      this.exchanges.delete(machine);
      this.endpoint.unlisten(machine);
    }
    this.routes.delete(machine);
  }

  obey(machine, action, now) {
    const ask = this.routes.get(machine)?.get(action.exchange);
    switch (action.kind) {
      case 'respond':
        if (ask === undefined) throw new Error('an exchange that is over is answered');
        return this.respond(ask, action.response, now);
      case 'chunk':
        if (ask?.state !== 'streaming') throw new Error('a chunk for what is no stream');
        if (Buffer.byteLength(action.text) !== action.byteLength) throw new Error('a chunk has another length');
        return ask.out.push({ kind: 'body', text: action.text, byteLength: action.byteLength });
      case 'finish':
        if (ask?.state !== 'streaming') throw new Error('an end of what is no stream');
        ask.out.push({ kind: 'end' });
        return this.over(ask, now);
      case 'listen':
        return this.endpoint.listen(machine, now);
      case 'publish':
        return this.publish(action.event, now);
      default:
        return this.events.push({ machine, action });
    }
  }

  respond(ask, response, now) {
    if (ask.state !== 'waiting') throw new Error('a request is answered twice');
    ask.request = undefined;
    ask.out.push({ kind: 'head', status: response.status, headers: response.headers });
    if (response.body === undefined) {
      ask.state = 'streaming';
      return;
    }
    ask.out.push({ kind: 'body', text: response.body }, { kind: 'end' });
    this.over(ask, now);
  }

  over(ask, now) {
    ask.state = 'over';
    const { machine } = ask;
    if (machine === undefined) return;
    this.routes.get(machine)?.delete(ask.exchange);
    ask.machine = undefined;
    if (this.isSession(machine)) {
      if (this.sessions.has(machine)) this.endpoint.exchangeEnded(machine, now);
    } else this.endpoint.unlisten(machine);
  }

  /** The next part of an answer: reading is what tells the machine that it was written. */
  read(ask, now) {
    const piece = ask.out.shift();
    if (piece?.byteLength !== undefined && ask.machine !== undefined && !ask.stalled) {
      ask.machine.written(ask.exchange, piece.byteLength, now);
      this.drain(ask.machine, now);
    }
    return piece;
  }

  disconnect(ask, now) {
    const { machine, state } = ask;
    if (machine === undefined || state === 'over') return;
    this.routes.get(machine).delete(ask.exchange);
    machine.disconnected(ask.exchange, now);
    ask.out = [];
    this.over(ask, now);
    this.drain(machine, now);
  }

  publish(event, now) {
    for (const machine of this.endpoint.concerned(event)) {
      machine.deliver(event, now);
      this.drain(machine, now);
    }
  }

  get machines() {
    return [...this.exchanges, ...this.sessions];
  }

  handleTimeout(now) {
    for (const machine of this.machines) {
      machine.handleTimeout(now);
      this.drain(machine, now);
    }
    this.endpoint.handleTimeout(now);
    this.closeExpired(now);
  }

  pollTimeout() {
    const all = [...this.machines, this.endpoint].map((machine) => machine.pollTimeout());
    const waited = all.filter((timeout) => timeout !== undefined);
    return waited.sort((one, other) => one.at - other.at)[0];
  }

  shutDown(now) {
    for (const machine of this.exchanges) {
      machine.shutdown(now);
      this.drain(machine, now);
    }
    for (const session of this.sessions) this.close(session, now);
  }
}

export class SiteStage extends ServerSteps {
  asks = new Map();
  places = new Map();

  open(version, capabilities) {
    this.arrive('session', { method: 'POST', target: '/mcp', headers: headers(POST) });
    this.body('session', Buffer.from(HANDSHAKE(version, capabilities)));
    this.end('session');
    const opened = this.heard('session');
    const id = opened.headers?.find(([name]) => name === 'mcp-session-id')?.[1];
    if (id === undefined) throw new Error(`the session was not opened: ${opened.body}`);
    this.kept.values.set('session', JSON.stringify(id));
    const more = { ...POST, 'mcp-session-id': id, 'mcp-protocol-version': version };
    this.arrive('', { method: 'POST', target: '/mcp', headers: headers(more) });
    this.body('', Buffer.from(INITIALIZED));
    this.end('');
    if (this.heard('').status !== 202) throw new Error('the session was not initialized');
    this.event();
  }

  step(step, rest) {
    switch (step.verb) {
      case 'end':
        return this.end(step.value.value);
      case 'close':
        return this.machine.shutDown(this.now);
      case 'closed': {
        const action = this.eventOn(step);
        if (action.kind !== 'closed' || action.why !== step.value.value) throw new Error(show(action));
        return undefined;
      }
      default:
        return super.step(step, rest);
    }
  }

  take(step) {
    const { value, more } = step;
    switch (step.verb) {
      case 'ask': {
        const member = (name) => value.members.get(name) && JSON.parse(this.kept.fill(value.members.get(name).text));
        const method = member('method') ?? 'POST';
        const list = headers(DEFAULTS[method] ?? { host: 'localhost' }, member('headers'));
        const name = more.get('as')?.value ?? '';
        const { target, authority, principal } = {
          target: member('target') ?? '/mcp',
          authority: member('authority'),
          principal: member('principal'),
        };
        this.arrive(name, { method, target, authority, principal, headers: list });
        const body = value.members.get('body');
        if (body !== undefined) this.body(name, bytesOf(body, this.kept));
        return more.has('open') ? undefined : this.end(name);
      }
      case 'more':
        return this.body(value.value, bytesOf(more.get('body'), this.kept));
      case 'give_up':
        return this.machine.giveUp(this.ask(value.value), this.now);
      case 'broken':
        return this.machine.broken(this.ask(value.value), this.now);
      case 'disconnect':
        return this.machine.disconnect(this.ask(value.value), this.now);
      case 'stall':
        this.ask(value.value).stalled = true;
        return undefined;
      case 'close_stream': {
        const { machine, slot } = this.named(value);
        this.checkSent(step, machine.closeStream(slot, this.now));
        return this.machine.drain(machine, this.now);
      }
      case 'answer':
      case 'stream':
      case 'event':
        return this.saidTo(step, more.get('of')?.value ?? '');
      case 'comment':
      case 'finished':
        return this.saidTo(step, value.value);
      default:
        return super.take(step);
    }
  }

  saidTo(step, name) {
    const heard = this.heard(name);
    if (heard.kind !== step.verb) throw new Error(`something else was said: ${JSON.stringify(heard).slice(0, 500)}`);
    if (step.verb === 'event') return this.kept.compare(step.value.text, blockText(heard, step.value));
    if (step.verb === 'comment' || step.verb === 'finished') return undefined;
    return compareMembers(this, step.value, (member, expected) => {
      switch (member) {
        case 'status':
          return String(heard.status);
        case 'headers':
          return headersText(heard.headers);
        case 'body':
          return asExpected(expected, heard.body);
        default:
          return undefined;
      }
    });
  }

  ask(name) {
    const ask = this.asks.get(name);
    if (ask === undefined) throw new Error(`no request is called ${JSON.stringify(name)}`);
    return ask;
  }

  /** A request arrives. Whoever had its name has it no more. */
  arrive(name, head) {
    this.drain();
    const before = this.asks.get(name)?.said[0];
    if (before !== undefined) throw new Error(`another request has this name, and ${JSON.stringify(before)} was said to it`);
    const ask = this.machine.begin(head, this.now);
    ask.said = [];
    ask.text = '';
    this.asks.set(name, ask);
    this.places.delete(name);
    this.placeOf(name);
  }

  body(name, bytes) {
    for (const piece of pieces(bytes, this.feed)) this.machine.push(this.ask(name), piece, this.now);
  }

  end(name) {
    this.machine.end(this.ask(name), this.now);
    this.placeOf(name);
  }

  placeOf(name) {
    const { served } = this.ask(name);
    if (served !== undefined) this.places.set(name, served);
  }

  heard(name) {
    this.drain();
    const heard = this.ask(name).said.shift();
    if (heard === undefined) throw new Error('nothing was said to it');
    return heard;
  }

  drain() {
    for (const ask of this.asks.values()) {
      for (let piece; (piece = this.machine.read(ask, this.now)) !== undefined; ) this.hear(ask, piece);
    }
    for (const event of this.machine.events.splice(0)) {
      if (event.action.kind === 'diagnostic') this.remarks.push(event.action);
      else this.actions.push(event);
    }
  }

  hear(ask, piece) {
    if (piece.kind === 'head') {
      ask.head = piece;
      ask.streams = piece.headers.some(([name, value]) => name === 'content-type' && value === 'text/event-stream');
      if (ask.streams) ask.said.push({ ...piece, kind: 'stream' });
    } else if (piece.kind === 'body') {
      ask.text += piece.text;
      for (let end; ask.streams && (end = ask.text.indexOf('\n\n')) >= 0; ask.text = ask.text.slice(end + 2)) {
        ask.said.push(readBlock(ask.text.slice(0, end)));
      }
    } else if (ask.streams) {
      if (ask.text !== '') throw new Error('the stream ends within an event');
      ask.said.push({ kind: 'finished' });
    } else ask.said.push({ kind: 'answer', status: ask.head.status, headers: ask.head.headers, body: ask.text });
  }

  nothingLeft() {
    this.drain();
    if (this.actions.length > 0) throw new Error(`the machine said more: ${show(this.actions[0].action)}`);
    for (const [name, ask] of this.asks) {
      if (ask.said.length > 0) throw new Error(`${JSON.stringify(ask.said[0]).slice(0, 400)} was said to ${JSON.stringify(name)}`);
    }
  }

  event() {
    const { machine, action } = super.event();
    this.from = machine;
    return action;
  }

  /** An event, from the machine that the step names. */
  eventOn(step) {
    const action = this.event();
    const on = step.more.get('on');
    if (on !== undefined && this.place(on) !== this.from) throw new Error(`it comes from another machine: ${show(action)}`);
    return action;
  }

  driven() {
    for (const machine of this.machine.machines) this.machine.drain(machine, this.now);
  }

  speaker() {
    return this.from;
  }

  place(tree) {
    const place = this.places.get(tree.value);
    if (place === undefined) throw new Error(`no machine serves ${tree.text}`);
    return place;
  }

  at(step) {
    return this.place(step.more.get('on'));
  }

  publish(step) {
    this.machine.publish(this.parse(step.value), this.now);
  }
}
