/** The clients: of a byte stream, and of Streamable HTTP. */

import {
  readClosed,
  readDiagnostic,
  ReplySlot,
  WriteAction,
  type ClosedAction,
  type DiagnosticAction,
} from './actions';
import { callErrorOf, misuse, type CallError } from './errors';
import { parseJson, stringifyJson, type JsonObject, type JsonValue, type RawJson } from './json';
import type { ErrorObject, Implementation, Limits, List, LoggingLevel, Version } from './model';
import { snake } from './model';
import {
  begin,
  guarded,
  index,
  mono,
  native,
  number,
  numbers,
  optional,
  string,
  timeoutOf,
  unix,
  type NativeClient,
  type Now,
  type Timeout,
} from './native';

/** What a client is, what it can do, and how it behaves. What is left out has its default. */
export interface ClientConfig {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
  /** How the era is found: `auto` probes and falls back; a revision is that one and no other. */
  readonly connect?: 'auto' | 'legacy' | 'modern' | Version | undefined;
  /** What the client can do, as on the wire. Declare only what the application answers. */
  readonly capabilities?: object | RawJson | undefined;
  /** Requests of a legacy server that the application answers itself, as `invoke`. */
  readonly serverMethods?: readonly string[] | undefined;
  /** Results of extensions that are accepted, by type. */
  readonly resultTypes?: readonly string[] | undefined;
  /** Whether accepted elicitations get the schema's defaults. Off. */
  readonly applyDefaults?: boolean | undefined;
  /** Whether requests say who we are. On. */
  readonly sendClientInfo?: boolean | undefined;
  /** Whether calls whose capability the server has not declared fail here. Off. */
  readonly strictCapabilities?: boolean | undefined;
  /** Whether structured results are checked against the schemas that lists have shown. On. */
  readonly validateOutput?: boolean | undefined;
  /** Whether the machine turns results that want input into questions and retries. On. */
  readonly driveInput?: boolean | undefined;
  /** Whether answers are kept for as long as the server allows. On. */
  readonly cache?: boolean | undefined;
  /** The least level of log messages wanted. None. */
  readonly logLevel?: LoggingLevel | undefined;
  /** Members for `_meta` of every request. */
  readonly meta?: object | RawJson | undefined;
  /** The revisions that the client speaks. All. */
  readonly versions?: readonly Version[] | undefined;
  /** How long things may take, in milliseconds; `null` is for ever. */
  readonly timeouts?: { readonly idleMs?: number | null; readonly hardMs?: number | null; readonly probeMs?: number };
  readonly limits?: Limits | undefined;
}

/** How a call is made. */
export interface CallOptions {
  /** Wants progress, under a token of the machine's or of your own. */
  readonly progress?: boolean | string | number | undefined;
  /** The longest silence, in milliseconds; `null` is for ever. */
  readonly idleMs?: number | null | undefined;
  /** The longest that the call may take; `null` is for ever. */
  readonly hardMs?: number | null | undefined;
  /** Whether the machine asks for input and retries. Off, `retry` makes the next round. */
  readonly driveInput?: boolean | undefined;
  readonly meta?: object | RawJson | undefined;
  readonly cache?: 'use' | 'refresh' | 'bypass' | undefined;
  readonly logLevel?: LoggingLevel | undefined;
  /** The authorization context that private answers belong to. */
  readonly partition?: string | undefined;
}

/** What a stream of notifications shall tell. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: boolean | undefined;
  readonly promptsListChanged?: boolean | undefined;
  readonly resourcesListChanged?: boolean | undefined;
  readonly resourceSubscriptions?: readonly string[] | undefined;
}

/** The server, as it introduced itself. */
export interface ServerFacts {
  /** The revision of the protocol that is spoken. The server's own version is in `info`. */
  readonly version: Version;
  readonly era: 'modern' | 'legacy';
  readonly capabilities: JsonObject;
  readonly info: Implementation | undefined;
  readonly instructions: string | undefined;
  /** What it answered, as it came. */
  readonly raw: JsonObject;
}

/** The answer to a question: an object with one member, or `declined`. */
export type InputAnswer =
  | { readonly elicit: object | RawJson }
  | { readonly sample: object | RawJson }
  | { readonly roots: object | RawJson }
  /** An object that goes out as it is. */
  | { readonly raw: object | RawJson }
  | { readonly refused: ErrorObject | RawJson }
  | 'declined';

/** The era and the revision are settled. Comes once. */
export interface ConnectedAction {
  readonly kind: 'connected';
  readonly server: ServerFacts;
}

/** A legacy session over HTTP was lost, and there is a new one: what the old one knew is gone. */
export interface RenewedAction {
  readonly kind: 'renewed';
  readonly server: ServerFacts;
}

/** A call has got further. */
export interface ProgressAction {
  readonly kind: 'progress';
  readonly call: number;
  readonly progress: number;
  readonly total: number | undefined;
  readonly message: string | undefined;
  /** The params as they came. */
  readonly params: JsonObject;
}

/** A call has ended. Comes once for each call, and nothing more comes for it. */
export class DoneAction {
  readonly kind = 'done';
  readonly call: number;
  /** Whether the answer came out of the cache. */
  readonly isCached: boolean;
  /** The text of the result, as it came. For a walk: an object with all items under the list's own name. */
  readonly rawResult: string | undefined;
  /** Why there is no result. */
  readonly error: CallError | undefined;
  #result: JsonObject | undefined;

  /** @internal */
  constructor() {
    this.call = number();
    this.isCached = number() === 1;
    this.rawResult = optional();
    const error = optional();
    this.error = error === undefined ? undefined : callErrorOf(error);
    Object.freeze(this);
  }

  /** The result; `undefined` if there is an `error`. Parsed once, when asked for. */
  get result(): JsonObject | undefined {
    if (this.rawResult === undefined) return undefined;
    return (this.#result ??= parseJson(this.rawResult) as JsonObject);
  }
}

/** The server asks: answer with `supplyInput`, or cancel the call that it asks for. */
export interface NeedInputAction {
  readonly kind: 'need_input';
  /** The question. */
  readonly input: number;
  /** The call that it is asked for; a legacy server does not say. */
  readonly call: number | undefined;
  /** The server's key for it; empty in the legacy era. */
  readonly key: string;
  /** What is asked, as a method of the specification. */
  readonly method: string;
  readonly params: JsonObject;
}

/** The answer to a question is not wanted any more. */
export interface CancelledInputAction {
  readonly kind: 'cancelled_input';
  readonly input: number;
  readonly reason: string | undefined;
}

/** A request of a legacy server that `serverMethods` names: answer with `reply`. */
export interface ClientInvocation {
  readonly kind: 'invoke';
  readonly slot: ReplySlot;
  readonly method: string;
  readonly params: JsonObject;
}

/** The server does not want the answer to an `invoke` any more. */
export interface CancelledInvokeAction {
  readonly kind: 'cancelled_invoke';
  /** The `id` of its slot. */
  readonly slot: string;
  readonly reason: string | undefined;
}

/** A notification of the server. */
export interface ServerNotifiedAction {
  readonly kind: 'notified';
  readonly method: string;
  readonly params: JsonObject;
  /** The listen call that it belongs to. */
  readonly subscription: number | undefined;
}

/** The server has opened a listen stream. */
export interface ListeningAction {
  readonly kind: 'listening';
  readonly call: number;
  /** What the server will tell: at most what was asked for. */
  readonly filter: SubscriptionFilter;
}

/** What every client says. */
export type ClientEvent =
  | ConnectedAction
  | RenewedAction
  | ProgressAction
  | DoneAction
  | NeedInputAction
  | CancelledInputAction
  | ClientInvocation
  | CancelledInvokeAction
  | ServerNotifiedAction
  | ListeningAction
  | DiagnosticAction
  | ClosedAction;

/** What the client of a byte stream says. */
export type ClientAction = WriteAction | ClientEvent;

/** Send this request, and report `handleHead`, `handleBody` and `handleEnd`, or `handleFailed`. */
export interface FetchAction {
  readonly kind: 'fetch';
  readonly fetch: number;
  readonly method: string;
  readonly url: string;
  /** All but those that an HTTP library makes itself. One byte in each character of a value. */
  readonly headers: readonly (readonly [string, string])[];
  /** Empty if there is none. */
  readonly body: string;
}

/** Drop this exchange with its stream or connection: nobody wants the rest. */
export interface AbortAction {
  readonly kind: 'abort';
  readonly fetch: number;
}

/** The server wants credentials: answer with `authorize` or `refuseAuthorization`. */
export interface UnauthorizedAction {
  readonly kind: 'unauthorized';
  readonly fetch: number;
  readonly status: number;
  readonly wwwAuthenticate: readonly string[];
}

/** What the client of Streamable HTTP says. */
export type HttpClientAction = FetchAction | AbortAction | UnauthorizedAction | ClientEvent;

function factsOf(text: string): ServerFacts {
  const told = parseJson(text) as JsonObject;
  return Object.freeze({
    version: told['version'] as Version,
    era: told['is_modern'] === true ? 'modern' : 'legacy',
    capabilities: told['declared'] as JsonObject,
    info: (told['info'] as unknown as Implementation | null) ?? undefined,
    instructions: (told['instructions'] as string | null) ?? undefined,
    raw: told['raw'] as JsonObject,
  });
}

function optionsOf(options: CallOptions | undefined): object | null {
  if (options === undefined) return null;
  const { progress, idleMs, hardMs, ...rest } = options;
  const time = (millis: number | null | undefined) => (millis === null ? -1 : millis);
  return snake({
    ...rest,
    idleMs: time(idleMs),
    hardMs: time(hardMs),
    ...(typeof progress === 'boolean' ? { progress } : { progressToken: progress }),
  });
}

/** What every client can do. */
export abstract class ClientMachine<A> {
  /** @internal */
  readonly native: NativeClient;
  readonly #lost: [number, number][] = [];
  #watch: FinalizationRegistry<[number, number]> | undefined;
  /** Called, in a task of its own, when the slot of an `invoke` was collected unused. Drive the machine then. */
  onabandon: (() => void) | undefined;

  /** @internal */
  constructor(config: ClientConfig, place: string | null) {
    const { name, version, title, capabilities, limits, timeouts, ...rest } = config;
    const settings = stringifyJson({
      ...snake(rest),
      info: { name, version, title },
      declared: capabilities,
      limits: snake(limits ?? {}),
      timeouts: snake(timeouts ?? {}),
    });
    this.native = guarded(() => new native.ClientMachine(settings, place));
  }

  /** The next thing to do; `undefined` when everything is done. To be asked until then, after every verb. */
  poll(): A | undefined {
    const packed = this.native.poll(numbers);
    return packed === null ? undefined : this.read(begin(packed));
  }

  /** @internal */
  protected abstract read(kind: number): A;

  /** When to call `handleTimeout`, and why. */
  pollTimeout(): Timeout | undefined {
    return timeoutOf(this.native.pollTimeout(numbers));
  }

  /** Lets deadlines that have come take effect. */
  handleTimeout(now?: Now): void {
    this.#settle(now);
    this.native.handleTimeout(mono(now), unix(now));
  }

  /** Whether to read on. */
  get wantsInput(): boolean {
    return this.native.wantsInput();
  }

  /** Finds out the era and the revision; ends in `connected` or `closed`. Calls may be made before: they wait. */
  connect(now?: Now): void {
    this.act('connect', [], now);
  }

  /** Calls a tool. The number comes back in `done`, once, whatever happens; so with every call. */
  callTool(name: string, args: object | RawJson = {}, options?: CallOptions, now?: Now): number {
    return this.#call('call_tool', [name, args], options, now);
  }
  /** Reads a resource. */
  readResource(uri: string, options?: CallOptions, now?: Now): number {
    return this.#call1('read_resource', uri, options, now);
  }
  /** Fills in a prompt. */
  getPrompt(name: string, args: object | RawJson = {}, options?: CallOptions, now?: Now): number {
    return this.#call('get_prompt', [name, args], options, now);
  }
  /** Completes an argument of a prompt. `filled` are arguments that are filled in already. */
  completePrompt(
    name: string,
    argument: string,
    value: string,
    filled?: object,
    options?: CallOptions,
    now?: Now,
  ): number {
    return this.#call('complete_prompt', [name, argument, value, filled ?? null], options, now);
  }
  /** Completes a variable of a resource template. */
  completeTemplate(
    uri: string,
    argument: string,
    value: string,
    filled?: object,
    options?: CallOptions,
    now?: Now,
  ): number {
    return this.#call('complete_template', [uri, argument, value, filled ?? null], options, now);
  }
  /** Reads a page of a list. */
  list(list: List, cursor?: string, options?: CallOptions, now?: Now): number {
    return this.#call('list', [list, cursor ?? null], options, now);
  }
  /** Subscribes to a resource, in the legacy era. The modern one has `listen`. */
  subscribe(uri: string, options?: CallOptions, now?: Now): number {
    return this.#call1('subscribe', uri, options, now);
  }
  /** Ends a subscription, in the legacy era. */
  unsubscribe(uri: string, options?: CallOptions, now?: Now): number {
    return this.#call1('unsubscribe', uri, options, now);
  }
  /** Asks a modern server what it is. */
  discover(options?: CallOptions, now?: Now): number {
    return this.#call('discover', [], options, now);
  }
  /** Any method with any params, an object. */
  call(method: string, params: object | RawJson = {}, options?: CallOptions, now?: Now): number {
    return this.#call('custom', [method, params], options, now);
  }
  /** The next round of a call with `driveInput` off whose answer wants input. `responses` is an object, by key. */
  retry(call: number, responses: object | RawJson, options?: CallOptions, now?: Now): number {
    return this.act('retry', [call, responses, optionsOf(options)], now) as number;
  }
  /** Reads a whole list, page by page. `done` carries all items. */
  walk(list: List, options?: CallOptions, now?: Now): number {
    return this.act('walk', [list, optionsOf(options)], now) as number;
  }
  /** Opens a stream of notifications, in the modern era. */
  listen(filter: SubscriptionFilter, options?: CallOptions, now?: Now): number {
    return this.act('listen', [filter, optionsOf(options)], now) as number;
  }
  /** Sets the least level of log messages wanted. */
  setLevel(level: LoggingLevel, now?: Now): number {
    return this.act1('set_level', level, now) as number;
  }
  /** Ends a call: `done` with an error of the kind `cancelled`. */
  cancel(call: number, reason?: string, now?: Now): void {
    this.act('cancel', [call, reason], now);
  }
  /** Sends a notification of a method that the protocol does not reserve. */
  notify(method: string, params: object | RawJson = {}, now?: Now): void {
    this.act('notify', [method, params], now);
  }
  /** Says that the client's roots have changed. */
  rootsChanged(now?: Now): void {
    this.act('roots_changed', [], now);
  }

  /** Answers a question. Throws if it is not open, or the answer does not fit: then it stays open. */
  supplyInput(input: number, answer: InputAnswer, now?: Now): void {
    let given: object;
    if (answer === 'declined') given = { declined: [] };
    else if ('roots' in answer) given = { root_list: answer.roots };
    else given = answer;
    this.act('supply', [input, given], now);
  }

  /** Answers an `invoke` with a result, which is an object, or an error. */
  reply(
    slot: ReplySlot,
    reply: { readonly result: object | RawJson } | { readonly error: ErrorObject | RawJson },
    now?: Now,
  ): void {
    const halves = this.#own(slot);
    if ('result' in reply) this.act('reply', [halves, reply.result], now);
    else this.act('fail', [halves, reply.error], now);
    this.#watch?.unregister(slot);
  }

  /** Ends an `invoke` whose handler went away. */
  abandon(slot: ReplySlot, now?: Now): void {
    this.act1('abandon', this.#own(slot), now);
    this.#watch?.unregister(slot);
  }

  /** Ends the connection: every open call is `done` with `disconnected`, then `closed` comes. */
  close(now?: Now): void {
    this.act('close', [], now);
  }

  /** The server, once connected. */
  get server(): ServerFacts | undefined {
    const text = this.native.act('{"server":[]}', 0, 0);
    return text === null ? undefined : factsOf(text);
  }

  /** @internal */
  protected act(verb: string, given: readonly unknown[], now: Now | undefined): JsonValue | undefined {
    return this.#perform(stringifyJson({ [verb]: given.map((value) => value ?? null) }), now);
  }

  /** @internal */
  protected act1(verb: string, given: unknown, now: Now | undefined): JsonValue | undefined {
    return this.#perform(stringifyJson({ [verb]: given ?? null }), now);
  }

  #call(what: string, given: readonly unknown[], options: CallOptions | undefined, now: Now | undefined): number {
    return this.act('call', [{ [what]: given }, optionsOf(options)], now) as number;
  }

  #call1(what: string, given: unknown, options: CallOptions | undefined, now: Now | undefined): number {
    return this.act('call', [{ [what]: given }, optionsOf(options)], now) as number;
  }

  #perform(text: string, now: Now | undefined): JsonValue | undefined {
    this.#settle(now);
    const answer = guarded(() => this.native.act(text, mono(now), unix(now)));
    return answer === null ? undefined : parseJson(answer);
  }

  #settle(now: Now | undefined): void {
    for (let lost = this.#lost.pop(); lost !== undefined; lost = this.#lost.pop()) {
      const halves = lost;
      guarded(() => this.native.act(JSON.stringify({ abandon: halves }), mono(now), unix(now)));
    }
  }

  #own(slot: ReplySlot): [number, number] {
    if (slot.machine !== this) throw misuse('the reply slot is another machine\'s');
    return [slot.low, slot.high];
  }

  #slot(): ReplySlot {
    const slot = new ReplySlot(number(), number(), this);
    if (this.#watch === undefined) {
      const lost = this.#lost;
      const machine = new WeakRef(this);
      this.#watch = new FinalizationRegistry((halves) => {
        lost.push(halves);
        machine.deref()?.onabandon?.();
      });
    }
    this.#watch.register(slot, [slot.low, slot.high], slot);
    return slot;
  }

  /** What every client says. @internal */
  protected event(kind: number): ClientEvent {
    switch (kind) {
      case 1:
        return Object.freeze({ kind: 'connected', server: factsOf(string()) });
      case 2:
        return Object.freeze({ kind: 'renewed', server: factsOf(string()) });
      case 3: {
        const [call, progress, total] = [number(), number(), number()];
        const message = optional();
        const params = parseJson(string()) as JsonObject;
        return Object.freeze({
          kind: 'progress',
          call,
          progress,
          total: Number.isNaN(total) ? undefined : total,
          message,
          params,
        });
      }
      case 4:
        return new DoneAction();
      case 5:
        return Object.freeze({
          kind: 'need_input',
          input: number(),
          call: index(),
          key: string(),
          method: string(),
          params: parseJson(string()) as JsonObject,
        });
      case 6:
        return Object.freeze({ kind: 'cancelled_input', input: number(), reason: optional() });
      case 7:
        return Object.freeze({
          kind: 'invoke',
          slot: this.#slot(),
          method: string(),
          params: parseJson(string()) as JsonObject,
        });
      case 8:
        return Object.freeze({ kind: 'cancelled_invoke', slot: `${number()}.${number()}`, reason: optional() });
      case 9:
        return Object.freeze({
          kind: 'notified',
          subscription: index(),
          method: string(),
          params: parseJson(string()) as JsonObject,
        });
      case 10:
        return Object.freeze({
          kind: 'listening',
          call: number(),
          filter: JSON.parse(string()) as SubscriptionFilter,
        });
      case 11:
        return readDiagnostic();
      default:
        return readClosed();
    }
  }
}

/** The client of a byte stream: the pipes of a child process, a socket. */
export class Client extends ClientMachine<ClientAction> {
  constructor(config: ClientConfig) {
    super(config, null);
  }

  /** @internal */
  protected read(kind: number): ClientAction {
    return kind === 0 ? new WriteAction() : this.event(kind);
  }

  /** Bytes arrived, cut anywhere. Text is taken as {@link Server.handle} takes it: whole code points. */
  handle(input: Uint8Array | string, now?: Now): void {
    guarded(() =>
      typeof input === 'string'
        ? this.native.handleText(input, 0, mono(now), unix(now))
        : this.native.handleBytes(input, 0, mono(now), unix(now)),
    );
  }

  /** The server will send no more. */
  handleEof(now?: Now): void {
    this.act('eof', [], now);
  }

  /** So many bytes of `write` actions have left. */
  written(byteLength: number, now?: Now): void {
    this.native.written(byteLength, mono(now), unix(now));
  }
}

/** Where an HTTP server is, and what every request to it carries. */
export interface EndpointOptions {
  readonly headers?: readonly (readonly [string, string])[] | { readonly [name: string]: string } | undefined;
  /** The credentials for every request, such as `Bearer abc`. */
  readonly authorization?: string | undefined;
  /** Whether the application is asked when the server wants credentials. Off: the request fails. */
  readonly askAuthorization?: boolean | undefined;
  /** Whether a legacy session opens the stream that carries what no request asked for. On. */
  readonly getStream?: boolean | undefined;
  /** Whether the transport of 2024-11-05 is tried where a server refuses as its servers do. On. */
  readonly deprecatedSse?: boolean | undefined;
}

/** The client of Streamable HTTP: it asks for requests, and is told what comes of them. */
export class HttpClient extends ClientMachine<HttpClientAction> {
  constructor(config: ClientConfig, url: string, endpoint: EndpointOptions = {}) {
    const { headers, authorization, ...rest } = endpoint;
    const list = headers === undefined ? [] : Array.isArray(headers) ? headers : Object.entries(headers);
    super(config, stringifyJson({ ...snake(rest), url, headers: list, credentials: authorization }));
  }

  /** @internal */
  protected read(kind: number): HttpClientAction {
    switch (kind) {
      case 13:
        return Object.freeze({
          kind: 'fetch',
          fetch: number(),
          method: string(),
          url: string(),
          headers: JSON.parse(string()) as [string, string][],
          body: string(),
        });
      case 14:
        return Object.freeze({ kind: 'abort', fetch: number() });
      case 15:
        return Object.freeze({
          kind: 'unauthorized',
          fetch: number(),
          status: number(),
          wwwAuthenticate: JSON.parse(string()) as string[],
        });
      default:
        return this.event(kind);
    }
  }

  /** The head of an answer. Values of headers hold one byte in each character, as Node has them. */
  handleHead(fetch: number, status: number, headers: Iterable<readonly [string, string]>, now?: Now): void {
    this.act('head', [fetch, status, [...headers]], now);
  }
  /** A part of the body, cut anywhere. */
  handleBody(fetch: number, part: Uint8Array | string, now?: Now): void {
    guarded(() =>
      typeof part === 'string'
        ? this.native.handleText(part, fetch, mono(now), unix(now))
        : this.native.handleBytes(part, fetch, mono(now), unix(now)),
    );
  }
  /** The body is whole. */
  handleEnd(fetch: number, now?: Now): void {
    this.act1('end', fetch, now);
  }
  /** There is no answer (`not_sent`: the server has seen nothing), or it broke off. */
  handleFailed(fetch: number, why: 'not_sent' | 'broken', text = '', now?: Now): void {
    this.act(why, [fetch, text], now);
  }
  /** Answers `unauthorized`: the request goes out anew with these credentials, and so do all later ones. */
  authorize(fetch: number, authorization: string, now?: Now): void {
    this.act('authorize', [fetch, authorization], now);
  }
  /** Answers `unauthorized`: there are none. */
  refuseAuthorization(fetch: number, now?: Now): void {
    this.act1('refuse_authorization', fetch, now);
  }
  /** Sets the credentials for all later requests. */
  setAuthorization(authorization: string | undefined, now?: Now): void {
    this.act1('set_authorization', authorization, now);
  }
  /** The id of the legacy session, if the server gave one. */
  get sessionId(): string | undefined {
    return (this.act('session_id', [], 0) as string | undefined) ?? undefined;
  }
}
