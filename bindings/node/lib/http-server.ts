/** The server of Streamable HTTP: heads, bodies and events go in, answers come out. */

import {
  readAnswered,
  readCancelled,
  readClosed,
  readDiagnostic,
  readInvocation,
  readNotified,
  type AnsweredAction,
  type CancelledAction,
  type ClosedAction,
  type DiagnosticAction,
  type Invocation,
  type NotifiedAction,
  type ReplySlot,
} from './actions';
import type { Definition } from './definition';
import { misuse } from './errors';
import { stringifyJson, type RawJson } from './json';
import { snake } from './model';
import {
  beginPlain,
  guarded,
  mono,
  native,
  number,
  numbers,
  optional,
  seedOf,
  string,
  timeoutOf,
  unix,
  type NativeEndpoint,
  type NativeRequest,
  type NativeServer,
  type NativeService,
  type Now,
  type Timeout,
} from './native';
import { definitionOf, eventNames, ServerMachine, type Event, type MachineOptions, type Sent } from './server';

/** What an HTTP server decides beside its definition. */
export interface ServiceOptions {
  /** Serves legacy clients without sessions: every request stands alone. */
  readonly stateless?: boolean | undefined;
  /** Answers every request with one JSON object; progress and log messages are dropped. */
  readonly jsonAnswers?: boolean | undefined;
  /** How long a stream may be silent before it shows a sign of life, in milliseconds: 15000. `null` for ever. */
  readonly keepAliveMs?: number | null | undefined;
  /** What is kept of the streams of legacy sessions, for clients that come back. Nothing by default. */
  readonly replay?: { readonly events?: number; readonly bytes?: number; readonly retryMs?: number };
  /** Which hosts clients may mean: `loopback` unless you say otherwise. */
  readonly hosts?: Welcome | undefined;
  /** Which sites may speak through a browser: `loopback` unless you say otherwise. */
  readonly origins?: Welcome | undefined;
  /**
   * Decides who may use a legacy session, within `HttpEndpoint.admit`. Without it, principal and origin must be those
   * of the request that opened it.
   */
  readonly owner?: ((claim: SessionClaim) => boolean) | undefined;
  /** Serves the transport of 2024-11-05 too, on two paths of its own. */
  readonly ssePair?: { readonly events: string; readonly messages: string };
}

/**
 * Who is welcome: names, or a function that sees the value as it came and is asked within `HttpService.judge`. What it
 * throws is thrown there, and nobody was welcome.
 */
export type Welcome = 'loopback' | 'any' | readonly string[] | ((value: string) => boolean);

/** Who wants to use a legacy session, and who opened it. Origins are as they came. */
export interface SessionClaim {
  readonly session: string;
  /** The principal of the request that opened it, and its origin. */
  readonly openedBy: string | undefined;
  readonly openedFrom: string | undefined;
  /** Those of this request. */
  readonly principal: string | undefined;
  readonly origin: string | undefined;
}

/** The head of a request. */
export interface HttpHead {
  readonly method: string;
  /** Path and query, as they came. */
  readonly target: string;
  /** The authority that an HTTP/2 request names. */
  readonly authority?: string | undefined;
  /** Every header that came: pairs, or name and value by turns as Node's `rawHeaders`. */
  readonly headers: readonly (readonly [string, string])[] | readonly string[];
  /** Who is asking, as you have authenticated it. */
  readonly principal?: string | undefined;
}

/** An answer. */
export interface HttpResponse {
  readonly status: number;
  /** With names in lower case. `content-length` is the transport's. */
  readonly headers: readonly (readonly [string, string])[];
  /** All of the body; `undefined` if it is a stream, which the `chunk` actions bring until `finish`. */
  readonly body: string | undefined;
  /** Why the request was refused, for the log. */
  readonly diagnostic: string | undefined;
}

/** Write these bytes of a stream, and report them with `written` when they left. */
export interface ChunkAction {
  readonly kind: 'chunk';
  readonly exchange: number;
  readonly byteLength: number;
  readonly text: string;
}
/** A stream is complete: end the body. */
export interface FinishAction {
  readonly kind: 'finish';
  readonly exchange: number;
}
/** A listen stream is asked for: tell `HttpEndpoint.listen`. */
export interface ListenAction {
  readonly kind: 'listen';
}
/** Something that others want to hear: give it to `HttpEndpoint.publish`. */
export interface PublishAction {
  readonly kind: 'publish';
  readonly event: Event;
}
/** Answer a request. A body that is whole completes its exchange. */
export interface RespondAction {
  readonly kind: 'respond';
  readonly exchange: number;
  readonly response: HttpResponse;
}

/** What the machines of an HTTP server say. */
export type HttpServerAction =
  | Invocation
  | CancelledAction
  | NotifiedAction
  | AnsweredAction
  | DiagnosticAction
  | ClosedAction
  | ChunkAction
  | FinishAction
  | ListenAction
  | PublishAction
  | RespondAction;

function readResponse(): HttpResponse {
  const status = number();
  const length = number();
  const headers = JSON.parse(string()) as [string, string][];
  const body = string();
  return Object.freeze({ status, headers, body: length < 0 ? undefined : body, diagnostic: optional() });
}

/** What a function of the application has thrown, while the native part was asking. */
let thrown: { readonly error: unknown } | undefined;

/** What a function of the application answers. One that fails welcomes nobody. */
function judged(ask: () => boolean): boolean {
  try {
    return Boolean(ask());
  } catch (error) {
    thrown ??= { error };
    return false;
  }
}

/** Does something in the native part that may ask the application; throws what that has thrown. */
function asking<T>(act: () => T): T {
  const outer = thrown;
  thrown = undefined;
  try {
    const done = guarded(act);
    // What `act` has set is not seen by the compiler.
    const failed = thrown as { readonly error: unknown } | undefined;
    if (failed !== undefined) throw failed.error;
    return done;
  } finally {
    thrown = outer;
  }
}

/** What is served, and how: immutable. */
export class HttpService {
  /** @internal */
  readonly native: NativeService;

  constructor(definition: Definition, options: ServiceOptions = {}) {
    const { keepAliveMs, hosts, origins, owner, replay, ssePair, ...switches } = options;
    const welcome = (allow: Welcome | undefined) =>
      typeof allow === 'string' ? { [allow]: [] } : typeof allow === 'object' ? { list: allow } : undefined;
    const asks = (allow: Welcome | undefined) =>
      typeof allow === 'function' ? (value: string) => judged(() => allow(value)) : null;
    const owns =
      owner &&
      ((session: string, openedBy?: string, openedFrom?: string, principal?: string, origin?: string) =>
        judged(() => {
          const [by, from] = [openedBy ?? undefined, openedFrom ?? undefined];
          const now = { principal: principal ?? undefined, origin: origin ?? undefined };
          return owner({ session, openedBy: by, openedFrom: from, ...now });
        }));
    const settings = stringifyJson({
      ...snake(switches),
      keep_alive_ms: keepAliveMs ?? undefined,
      no_keep_alive: keepAliveMs === null,
      hosts: welcome(hosts),
      origins: welcome(origins),
      replay: replay && snake(replay),
      sse_pair: ssePair && [ssePair.events, ssePair.messages],
    });
    this.native = guarded(
      () => new native.HttpService(definitionOf(definition), settings, asks(hosts), asks(origins), owns ?? null),
    );
    Object.freeze(this);
  }

  /** Judges the head of a request. */
  judge(head: HttpHead): HttpRequest {
    return new HttpRequest(this, head);
  }
}

const WAYS = ['gone', 'answered', 'body', 'session', 'exchange'] as const;

/**
 * A request on its way.
 *
 * | `way` | do |
 * |---|---|
 * | `answered` | answer with `response` |
 * | `body` | `push` the body, then `finish` |
 * | `session` | ask `HttpEndpoint.admit` |
 * | `exchange` | take the machine with `exchange()`, and drive it |
 * | `gone` | nothing: it was taken |
 */
export class HttpRequest {
  /** @internal */
  readonly native: NativeRequest;

  /** @internal */
  constructor(service: HttpService, head: HttpHead) {
    const { method, target, authority, headers, principal } = head;
    const pairs: (readonly [string, string])[] = [];
    if (typeof headers[0] === 'string') {
      const turns = headers as readonly string[];
      for (let at = 0; at + 1 < turns.length; at += 2) pairs.push([turns[at] as string, turns[at + 1] as string]);
    } else pairs.push(...(headers as readonly (readonly [string, string])[]));
    const list = JSON.stringify(pairs);
    this.native = asking(
      () => new native.HttpRequest(service.native, method, target, authority ?? null, list, principal ?? null),
    );
  }

  /** How far it has got. */
  get way(): (typeof WAYS)[number] {
    return WAYS[this.native.way()] as (typeof WAYS)[number];
  }

  /** Takes a piece of the body. It may be too long: then the request is `answered`. */
  push(part: Uint8Array): void {
    guarded(() => this.native.push(part));
  }

  /** The body is complete: who serves it? `seed` is from `HttpEndpoint.seed`. */
  finish(seed: Uint8Array, now?: Now): void {
    guarded(() => this.native.finish(seed, mono(now), unix(now)));
  }

  /** The body takes longer than the transport waits: the request is `answered`. */
  giveUp(): void {
    this.native.refuse(false);
  }

  /** The body has broken off, or its framing is wrong: the request is `answered`. */
  broken(): void {
    this.native.refuse(true);
  }

  /** The answer, once it is `answered`. */
  get response(): HttpResponse | undefined {
    const packed = this.native.response(numbers);
    if (packed === null) return undefined;
    beginPlain(packed);
    return readResponse();
  }

  /** The machine that serves it alone. */
  exchange(): HttpExchange {
    const machine = this.native.way() === 4 ? this.native.exchange() : null;
    if (machine === null) throw misuse('the request has no exchange, or it was taken');
    return new HttpExchange(machine);
  }
}

/** The verbs that exchanges and sessions share. */
export abstract class HttpMachine extends ServerMachine<HttpServerAction> {
  /** @internal */
  protected read(kind: number): HttpServerAction {
    switch (kind) {
      case 1:
        return readInvocation(this);
      case 2:
        return readCancelled();
      case 3:
        return readNotified();
      case 4:
        return readAnswered();
      case 5:
        return readDiagnostic();
      case 6:
        return readClosed();
      case 7:
        return Object.freeze({ kind: 'chunk', exchange: number(), byteLength: number(), text: string() });
      case 8:
        return Object.freeze({ kind: 'finish', exchange: number() });
      case 9:
        return Object.freeze({ kind: 'listen' });
      case 10: {
        const changed = string();
        const resource = optional();
        return Object.freeze({ kind: 'publish', event: resource === undefined ? (changed as Event) : { resource } });
      }
      default:
        return Object.freeze({ kind: 'respond', exchange: number(), response: readResponse() });
    }
  }

  /** Tells everybody that something has changed, by way of the action `publish`. */
  publish(event: Event, now?: Now): void {
    this.act('publish', eventNames(event), now);
  }

  /** An event that the endpoint has led here. */
  deliver(event: Event, now?: Now): Sent {
    return this.act('deliver', eventNames(event), now) as Sent;
  }

  /** So many bytes of `chunk` actions of an exchange have left. */
  written(exchange: number, byteLength: number, now?: Now): void {
    this.drained = false;
    this.native.written(byteLength, exchange, mono(now), unix(now));
  }

  /** The client of an exchange has gone away before its answer was complete. */
  disconnected(exchange: number, now?: Now): void {
    this.act1('disconnected', exchange, now);
  }

  /** The server ends: streams that stand end. Requests in flight go on. */
  shutdown(now?: Now): void {
    this.act('shutdown', [], now);
  }
}

/** One request that stands alone. Its actions name the exchange 0. `isClosed`: nothing more comes of it. */
export class HttpExchange extends HttpMachine {
  /** @internal */
  constructor(machine: NativeServer) {
    super(machine);
  }
}

/** One legacy session. */
export class HttpSession extends HttpMachine {
  /** Its number in the endpoint. @internal */
  readonly number: number;

  /** @internal */
  constructor(machine: NativeServer, number: number) {
    super(machine);
    this.number = number;
  }

  /** The name of the session, as the client has it. */
  get id(): string {
    return this.act('id', [], 0) as string;
  }

  /** Takes a request that the endpoint has led here. The answer names the exchange in which it is answered. */
  accept(request: HttpRequest, now?: Now): number {
    this.settle(now);
    return guarded(() => request.native.accept(this.native, mono(now), unix(now)));
  }

  /** See `Server.request`. */
  request(method: string, params?: object | RawJson, slot?: ReplySlot, timeoutMs?: number, now?: Now): number {
    return this.act('request', [this.halves(slot), method, params, timeoutMs], now) as number;
  }

  /** Withdraws a request. */
  cancelRequest(call: number, reason?: string, now?: Now): void {
    this.act('cancel_request', [call, reason], now);
  }

  /** Announces that an elicitation by URL has ended. */
  elicitationComplete(elicitationId: string, now?: Now): Sent {
    return this.act1('elicitation_complete', elicitationId, now) as Sent;
  }

  /** Ends the connection of the request of `slot`, which goes on: the client comes back for the rest. */
  closeStream(slot: ReplySlot, now?: Now): Sent {
    return this.act1('close_stream', this.halves(slot), now) as Sent;
  }

  /** Serves new requests by another definition, and tells the client which lists have changed. */
  replaceDefinition(definition: Definition, now?: Now): void {
    this.settle(now);
    guarded(() => this.native.replaceDefinition(definitionOf(definition), mono(now), unix(now)));
  }

  /** Ends the session. */
  close(now?: Now): void {
    this.act('close', [], now);
  }
}

/** Who serves a request about a session. */
export type Admitted =
  | { readonly kind: 'answered'; readonly response: HttpResponse }
  /** The session is ended: close its machine, and answer with this. */
  | { readonly kind: 'ended'; readonly session: HttpSession; readonly response: HttpResponse }
  | { readonly kind: 'exchange'; readonly exchange: HttpExchange }
  /** This session: `accept` the request, and report with `exchangeEnded` when it is answered. */
  | { readonly kind: 'session'; readonly session: HttpSession };

/** The registry of an endpoint: which legacy sessions and listen streams there are. */
export class HttpEndpoint {
  readonly #native: NativeEndpoint;
  readonly #sessions = new Map<number, HttpSession>();
  readonly #listeners = new Map<number, HttpExchange>();
  #last = 0;

  constructor(service: HttpService, options: MachineOptions = {}) {
    this.#native = guarded(() => new native.HttpEndpoint(service.native, seedOf(options.seed)));
  }

  /** A seed that nobody else has, for one request. */
  seed(): Uint8Array {
    return guarded(() => this.#native.seed());
  }

  /** Leads a request whose way is `session`. */
  admit(request: HttpRequest, now?: Now): Admitted {
    const number = asking(() => this.#native.admit(request.native, mono(now), unix(now)));
    const machine = this.#native.opened();
    if (machine !== null) this.#sessions.set(number, new HttpSession(machine, number));
    if (request.way === 'exchange') return { kind: 'exchange', exchange: request.exchange() };
    const session = this.#sessions.get(Math.abs(number));
    if (number < 0 && session !== undefined) {
      this.#sessions.delete(-number);
      return { kind: 'ended', session, response: request.response as HttpResponse };
    }
    if (session === undefined) return { kind: 'answered', response: request.response as HttpResponse };
    return { kind: 'session', session };
  }

  /** An exchange of a session is over: its answer is complete, or its client is gone. */
  exchangeEnded(session: HttpSession, now?: Now): void {
    guarded(() => this.#native.exchangeEnded(session.number, mono(now), unix(now)));
  }

  /** Forgets a session, after `closed`. */
  remove(session: HttpSession): void {
    guarded(() => this.#native.remove(session.number));
    this.#sessions.delete(session.number);
  }

  /** All sessions. */
  get sessions(): HttpSession[] {
    return [...this.#sessions.values()];
  }

  /** Enters a listen stream, after `listen`, and tells its exchange whether there was room. */
  listen(exchange: HttpExchange, now?: Now): boolean {
    this.#last += 1;
    exchange.drained = false;
    const entered = guarded(() => this.#native.listen(exchange.native, this.#last, mono(now), unix(now)));
    if (entered) this.#listeners.set(this.#last, exchange);
    return entered;
  }

  /** Forgets a listen stream, when its exchange is over. */
  unlisten(exchange: HttpExchange): void {
    guarded(() => this.#native.unlisten(exchange.native));
    for (const [number, known] of this.#listeners) if (known === exchange) this.#listeners.delete(number);
  }

  /** The machines that may want to hear of an event: `deliver` it to each. */
  concerned(event: Event): HttpMachine[] {
    const [changed, uri] = eventNames(event);
    const numbers = guarded(() => this.#native.listeners(changed, uri));
    const listeners = numbers.map((number) => this.#listeners.get(number));
    return [...this.#sessions.values(), ...listeners.filter((listener) => listener !== undefined)];
  }

  /** Serves something else from now on. The answer names the lists that have changed, for those who listen. */
  replaceService(service: HttpService): Event[] {
    return guarded(() => this.#native.replaceService(service.native)) as Event[];
  }

  /** A session as bytes, for another process; `undefined` while requests are in flight. */
  exportSession(session: HttpSession): Uint8Array | undefined {
    return this.#native.export(session.native) ?? undefined;
  }

  /** Enters a session that `exportSession` made bytes of. */
  importSession(exported: Uint8Array, now?: Now): HttpSession {
    const number = guarded(() => this.#native.import(exported, mono(now), unix(now)));
    const session = new HttpSession(this.#native.opened() as NativeServer, number);
    this.#sessions.set(number, session);
    return session;
  }

  /** Removes sessions that have been idle for too long: `pollExpired` hands them out. */
  handleTimeout(now?: Now): void {
    guarded(() => this.#native.handleTimeout(mono(now), unix(now)));
  }

  /** A session that has expired: close its machine. */
  pollExpired(): HttpSession | undefined {
    const number = guarded(() => this.#native.pollExpired());
    if (number === null) return undefined;
    const session = this.#sessions.get(number);
    this.#sessions.delete(number);
    return session;
  }

  /** When to call `handleTimeout`. */
  pollTimeout(): Timeout | undefined {
    return timeoutOf(guarded(() => this.#native.pollTimeout(numbers)));
  }
}
