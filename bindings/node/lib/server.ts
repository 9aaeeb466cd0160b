/** The server of a byte stream, and the verbs that it shares with the machines of HTTP. */

import {
  readAnswered,
  readCancelled,
  readClosed,
  readDiagnostic,
  readInvocation,
  readNotified,
  WriteAction,
  type AnsweredAction,
  type CancelledAction,
  type ClosedAction,
  type DiagnosticAction,
  type Invocation,
  type NotifiedAction,
  type ReplySlot,
} from './actions';
import { natives, type Definition } from './definition';
import { misuse, translated } from './errors';
import { parseJson, RawJson, stringifyJson, type JsonValue } from './json';
import type {
  CallToolResult,
  Completion,
  ErrorObject,
  GetPromptResult,
  InputRequest,
  LoggingLevel,
  ReadResourceResult,
} from './model';
import {
  begin,
  guarded,
  LAST,
  mono,
  native,
  numbers,
  seedOf,
  timeoutOf,
  times,
  unix,
  verbs,
  type NativeDefinition,
  type NativeServer,
  type Now,
  type Timeout,
} from './native';

/** What the application answers: an object with one member, which says of which kind. */
export type Reply =
  | { readonly tool: CallToolResult | RawJson }
  /** The result of a tool that is one text: what most tools say, and the fastest way to say it. */
  | { readonly text: string }
  /** The same of a tool that has failed: for the model to read. */
  | { readonly errorText: string }
  | { readonly prompt: GetPromptResult | RawJson }
  | { readonly resource: ReadResourceResult | RawJson }
  | { readonly completion: Completion | RawJson }
  | { readonly list: ListPage }
  | { readonly input: InputRequired }
  /** An error whose text is meant for the client. */
  | { readonly error: ErrorObject | RawJson }
  /** A result object that goes out as it is, whatever was asked: for gateways. */
  | { readonly raw: object | RawJson }
  /** Agreed, with `_meta` for the answer or nothing. */
  | { readonly empty: object | null }
  /** The handler failed in a way that is nobody's business: a generic text goes out. */
  | { readonly failed: true }
  /** The sealed state that came with the call was used before. */
  | { readonly stateUsed: true };

/** A page that the application makes. */
export interface ListPage {
  readonly items: readonly (object | RawJson)[];
  /** Where to go on; left out, the list ends. */
  readonly nextCursor?: string | undefined;
}

/**
 * What a handler needs before it can go on. The call comes again with all answers in `context.inputs`, whatever the
 * era of the client.
 */
export interface InputRequired {
  /** Questions by key. */
  readonly requests?: { readonly [key: string]: InputRequest } | undefined;
  /** State of the handler's own. */
  readonly state?: string | undefined;
  /** State of the front's. */
  readonly memo?: unknown | undefined;
  /** How long a legacy client has for its answer, in milliseconds by key. */
  readonly timeouts?: { readonly [key: string]: number } | undefined;
}

/** How far a request has got. `progress` must exceed that of the report before. */
export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A log message; `data` is any value. */
export interface LogMessage {
  readonly level: LoggingLevel;
  readonly logger?: string | undefined;
  readonly data: unknown;
}

/** Something that happened to the catalogue, or to a resource. */
export type Event = 'tools' | 'prompts' | 'resources' | { readonly resource: string };

/** Whether something went out: `full` is dropped, because the client reads too slowly. */
export type Sent = 'yes' | 'not_wanted' | 'full';

/** What the server of a byte stream says. */
export type ServerAction =
  | WriteAction
  | Invocation
  | CancelledAction
  | NotifiedAction
  | AnsweredAction
  | DiagnosticAction
  | ClosedAction;

/** The numbers of the kinds of replies, in the native part. */
const REPLIES = new Map([
  ['tool', 0],
  ['prompt', 1],
  ['resource', 2],
  ['completion', 3],
  ['list', 4],
  ['input', 5],
  ['error', 6],
  ['raw', 7],
  ['empty', 8],
  ['failed', 9],
  ['stateUsed', 10],
  ['text', 11],
  ['errorText', 12],
]);

const REPLY_TOOL = 0;
const REPLY_TEXT = 11;

/** The one member of a reply. */
function kindOf(reply: Reply): string {
  let found: string | undefined;
  for (const kind in reply) {
    if (found !== undefined) throw misuse(`a reply has one member, not ${found} and ${kind}`);
    found = kind;
  }
  if (found === undefined) throw misuse('a reply is an object with one member, which says of which kind');
  return found;
}

/** The text of a result that is one text and nothing else, as most are: it need not be written as JSON, and read again. */
function textOf(result: unknown): string | undefined {
  if (!isPlain(result, 'content', 'content') || !Array.isArray(result['content'])) return undefined;
  const blocks = result['content'] as unknown[] & { toJSON?: unknown };
  const block = blocks.length === 1 && blocks.toJSON === undefined ? blocks[0] : undefined;
  if (!isPlain(block, 'type', 'text') || block['type'] !== 'text') return undefined;
  return typeof block['text'] === 'string' ? block['text'] : undefined;
}

/** Whether JSON would write an object as it is, and it has no other members than these. */
function isPlain(value: unknown, one: string, other: string): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const name in value) if (name !== one && name !== other) return false;
  return (value as { toJSON?: unknown }).toJSON === undefined;
}

function replyText(kind: string, value: unknown): string | null {
  switch (kind) {
    case 'failed':
    case 'stateUsed':
      return null;
    case 'text':
    case 'errorText':
      if (typeof value !== 'string') throw misuse(`a reply of the kind ${kind} is a string`);
      return value;
    case 'list': {
      const { items, nextCursor } = value as ListPage;
      return stringifyJson({ items, next_cursor: nextCursor });
    }
    default:
      return stringifyJson(value);
  }
}

/** The halves of a slot. @internal */
type Halves = [number, number];

/** What every machine of a server can do. */
export abstract class ServerMachine<A extends { readonly kind: string }> {
  /** @internal */
  readonly native: NativeServer;
  readonly #place: number;
  /** What a verb has brought with it; the next to be polled. */
  #next: A | undefined;
  /** When that was. */
  #nextAt = 0;
  /** Whether nothing is queued, as far as is known: a crossing is saved. @internal */
  drained = false;
  /** Slots that were collected before they were used. */
  readonly #lost: Halves[] = [];
  /** The slot of the last invocation: most are answered before the next verb, and need not be watched. */
  #fresh: ReplySlot | undefined;
  #watch: FinalizationRegistry<Halves> | undefined;

  /**
   * Called, in a task of its own, when a slot was collected that nobody has used: its request is abandoned at the next
   * verb. Drive the machine then, as after any verb.
   */
  onabandon: (() => void) | undefined;

  /** @internal */
  constructor(machine: NativeServer) {
    this.native = machine;
    this.#place = machine.place();
  }

  /** @internal */
  protected abstract read(kind: number): A;

  /** The next thing to do; `undefined` when everything is done. To be asked until then, after every verb. */
  poll(): A | undefined {
    if (this.#fresh !== undefined) this.#watched();
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) return this.#handed(next);
    if (this.drained) return undefined;
    numbers[0] = this.#place;
    const packed = verbs.poll();
    this.drained = packed === null || numbers[LAST] === 1;
    return packed === null ? undefined : this.#handed(this.read(begin(packed)));
  }

  /** When to call `handleTimeout`, and why; `undefined` if nothing is waited for. */
  pollTimeout(): Timeout | undefined {
    if (this.#next !== undefined) return Object.freeze({ at: this.#nextAt, kind: 'actions' });
    return timeoutOf(this.native.pollTimeout(numbers));
  }

  /** Lets deadlines that have come take effect. */
  handleTimeout(now?: Now): void {
    this.settle(now);
    this.native.handleTimeout(mono(now), unix(now));
  }

  /**
   * Answers an invocation. The slot is used up, whatever comes of it. A reply to a request that was cancelled is
   * dropped; one that does not fit becomes an internal error for the client and a `diagnostic` here.
   *
   * Throws `MisuseError` if the slot was used before, or is another machine's; and if the reply has not the shape of
   * its kind: then the slot is still open.
   */
  reply(slot: ReplySlot, reply: Reply, now?: Now): void {
    this.#own(slot);
    const kind = kindOf(reply);
    let number = REPLIES.get(kind);
    if (number === undefined) throw misuse(`there is no reply of the kind ${JSON.stringify(kind)}`);
    const value = (reply as Record<string, unknown>)[kind];
    const plain = number === REPLY_TOOL ? textOf(value) : undefined;
    if (plain !== undefined) number = REPLY_TEXT;
    const text = plain ?? replyText(kind, value);
    const fresh = slot === this.#fresh;
    if (fresh) this.#fresh = undefined;
    this.settle(now);
    this.begin(now);
    numbers[4] = slot.low;
    numbers[5] = slot.high;
    numbers[6] = number;
    try {
      this.brought(verbs.reply(text));
    } catch (error) {
      // It may still be open.
      if (fresh) this.#fresh = slot;
      throw translated(error);
    }
    if (!fresh) this.#watch?.unregister(slot);
  }

  /** Ends the request of a slot without an answer: its handler is gone. */
  abandon(slot: ReplySlot, now?: Now): void {
    this.#own(slot);
    this.settle(now);
    this.native.abandon(slot.low, slot.high, mono(now), unix(now));
    this.#watch?.unregister(slot);
  }

  /** Reports how far the request of `slot` has got. */
  progress(slot: ReplySlot, report: Progress, now?: Now): Sent {
    const { progress, total, message } = report;
    return this.act('progress', [this.halves(slot), progress, total, message], now) as Sent;
  }

  /** Sends a log message: for the request of `slot`, or for the legacy session as a whole. */
  log(message: LogMessage, slot?: ReplySlot, now?: Now): Sent {
    const { level, logger, data } = message;
    return this.act('log', [this.halves(slot), level, logger, data ?? null], now) as Sent;
  }

  /** Sends a notification of a method that is not the protocol's, or, for a gateway, of one that is. */
  notify(method: string, params?: object | RawJson, slot?: ReplySlot, now?: Now): void {
    this.act('notify', [this.halves(slot), method, params], now);
  }

  /** Whether the machine is over: only its queue is left. */
  get isClosed(): boolean {
    return this.native.isClosed();
  }

  /** @internal */
  context(slot: ReplySlot): string {
    return guarded(() => this.native.context(slot.low, slot.high));
  }

  /** @internal */
  ask(verb: string): string | null {
    return guarded(() => this.native.act(verb, 0, 0));
  }

  /** Does one of the rarer verbs. @internal */
  protected act(verb: string, given: readonly unknown[], now: Now | undefined): JsonValue | undefined {
    const text = stringifyJson({ [verb]: given.map((value) => value ?? null) });
    return this.perform(text, now);
  }

  /** The same for a verb with one argument. @internal */
  protected act1(verb: string, given: unknown, now: Now | undefined): JsonValue | undefined {
    return this.perform(stringifyJson({ [verb]: given ?? null }), now);
  }

  /** Tells what was written, before a verb that may depend on it. @internal */
  protected report(_now: Now | undefined): void {}

  private perform(text: string, now: Now | undefined): JsonValue | undefined {
    this.settle(now);
    this.report(now);
    const answer = guarded(() => this.native.act(text, mono(now), unix(now)));
    return answer === null ? undefined : parseJson(answer);
  }

  /** @internal */
  protected halves(slot: ReplySlot | undefined): Halves | null {
    if (slot === undefined) return null;
    this.#own(slot);
    return [slot.low, slot.high];
  }

  /** Abandons what was collected. Every verb begins with it. @internal */
  protected settle(now: Now | undefined): void {
    this.drained = false;
    if (this.#fresh !== undefined) this.#watched();
    for (let lost = this.#lost.pop(); lost !== undefined; lost = this.#lost.pop()) {
      this.native.abandon(lost[0], lost[1], mono(now), unix(now));
    }
  }

  /** Writes down for the verbs which machine is meant, when, and whether they shall poll. @internal */
  protected begin(now: Now | undefined): void {
    const at = times(now);
    numbers[0] = this.#place;
    if (this.#next === undefined) {
      this.#nextAt = at;
      numbers[3] = 1;
    } else numbers[3] = 0;
  }

  /** Takes what a verb has brought with it. @internal */
  protected brought(packed: string | null): void {
    if (packed !== null) {
      this.drained = numbers[LAST] === 1;
      this.#next = this.read(begin(packed));
    } else this.drained = this.#next === undefined;
  }

  #handed(action: A): A {
    if (action.kind === 'invoke') this.#fresh = (action as unknown as Invocation).slot;
    return action;
  }

  #own(slot: ReplySlot): void {
    if (slot.machine !== this) throw misuse('the reply slot is another machine\'s');
  }

  #watched(): void {
    const slot = this.#fresh as ReplySlot;
    this.#fresh = undefined;
    if (this.#watch === undefined) {
      const lost = this.#lost;
      const machine = new WeakRef(this);
      this.#watch = new FinalizationRegistry((halves) => {
        lost.push(halves);
        machine.deref()?.onabandon?.();
      });
    }
    this.#watch.register(slot, [slot.low, slot.high], slot);
  }
}

/** Settings of a machine that a test may want to choose. */
export interface MachineOptions {
  /** 32 bytes that nobody else has; from the platform unless given. */
  readonly seed?: Uint8Array | undefined;
}

/**
 * The server of one byte stream: stdio, a socket, anything that carries lines. Both eras are served at once.
 *
 * ```js
 * server.handle(chunk);                        // bytes came in
 * for (let action; (action = server.poll()); ) {
 *   if (action.kind === 'write') { output(action.text); server.written(action.byteLength); }
 *   if (action.kind === 'invoke') server.reply(action.slot, { tool: { content: [] } });
 * }
 * ```
 *
 * Verbs throw `MisuseError` after the end, and the error that the machine has failed with, each time.
 */
export class Server extends ServerMachine<ServerAction> {
  /** What was written and is not told yet. */
  #written = 0;
  #writtenAt: Now | undefined;

  /** A server of `definition`, for one stream. */
  constructor(definition: Definition, options: MachineOptions = {}) {
    super(guarded(() => new native.ServerMachine(definitionOf(definition), seedOf(options.seed))));
  }

  /** @internal */
  protected read(kind: number): ServerAction {
    switch (kind) {
      case 0:
        return new WriteAction();
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
      default:
        return readClosed();
    }
  }

  /**
   * Bytes arrived, cut anywhere. Text is taken for the bytes of its UTF-8, and has to consist of whole code points: one
   * with half of a surrogate pair, as a chunk may begin or end with, throws `MisuseError` and is not read. Give bytes,
   * or let a `TextDecoder` or a stream with an encoding hold halves back.
   */
  handle(input: Uint8Array | string, now?: Now): void {
    this.settle(now);
    this.begin(now);
    numbers[4] = this.#written;
    try {
      this.brought(typeof input === 'string' ? verbs.read_text(input) : verbs.read_bytes(input));
    } catch (error) {
      throw translated(error);
    }
    this.#written = 0;
  }

  /** The client will send no more. What is owed is still written; then the machine closes. */
  handleEof(now?: Now): void {
    this.act('eof', [], now);
  }

  /** So many bytes of `write` actions have left. Without these reports the machine stops reading. */
  written(byteLength: number, now?: Now): void {
    // Nobody asks before the next verb, which takes it along.
    this.#written += byteLength;
    this.#writtenAt = now;
  }

  /** @internal */
  protected override report(now: Now | undefined): void {
    if (this.#written === 0) return;
    this.native.written(this.#written, 0, mono(now), unix(now));
    this.#written = 0;
  }

  /** Whether to go on reading. False while the client reads too slowly, unless its answers are waited for. */
  get wantsInput(): boolean {
    this.report(this.#writtenAt);
    return this.native.wantsInput();
  }

  /** Says who is at the other end: the principal of the requests that come from now on. */
  setPrincipal(principal: string | undefined): void {
    this.act1('set_principal', principal, 0);
  }

  /**
   * Sends a request to the client of the legacy session; its number comes back in `answered`. `timeoutMs` is how long
   * to wait. Throws in the modern era, where servers send no requests.
   */
  request(method: string, params?: object | RawJson, slot?: ReplySlot, timeoutMs?: number, now?: Now): number {
    return this.act('request', [this.halves(slot), method, params, timeoutMs], now) as number;
  }

  /** Withdraws a request: the client is told, and no answer is delivered. */
  cancelRequest(call: number, reason?: string, now?: Now): void {
    this.act('cancel_request', [call, reason], now);
  }

  /** Announces that an elicitation by URL has ended. */
  elicitationComplete(elicitationId: string, now?: Now): Sent {
    return this.act1('elicitation_complete', elicitationId, now) as Sent;
  }

  /** Tells whoever wants to know that something has changed. */
  publish(event: Event, now?: Now): Sent {
    return this.act('publish', eventNames(event), now) as Sent;
  }

  /** Serves new requests by another definition, and tells clients which lists have changed. */
  replaceDefinition(definition: Definition, now?: Now): void {
    this.settle(now);
    guarded(() => this.native.replaceDefinition(definitionOf(definition), mono(now), unix(now)));
  }

  /** Ends the connection: what is not answered is cancelled. */
  close(now?: Now): void {
    this.act('close', [], now);
  }

  /** The legacy session as a value; `undefined` without one, or while requests are in flight. */
  exportSession(): RawJson | undefined {
    const text = guarded(() => this.native.act('{"export_session":[]}', 0, 0));
    return text === null ? undefined : new RawJson(text);
  }

  /** Goes on with a session that `exportSession` gave, in a machine that has none. */
  importSession(session: RawJson): void {
    this.act1('import_session', session, 0);
  }
}

/** @internal */
export function definitionOf(definition: Definition): NativeDefinition {
  const found = natives.get(definition);
  if (found === undefined) throw misuse('a definition is made by its builder');
  return found;
}

/** @internal */
export function eventNames(event: Event): [string, string | null] {
  return typeof event === 'string' ? [event, null] : ['resource', event.resource];
}
