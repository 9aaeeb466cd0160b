/** What the machines of a server say: small frozen objects, told apart by `kind`. */

import { errorOf, type McpError } from './errors';
import { parseJson, type JsonObject, type JsonValue } from './json';
import type { ErrorObject, Implementation, List, Version } from './model';
import { index, number, optional, string } from './native';

/** The right to answer one request of the peer, once. If it is collected unused, its request is abandoned. */
export class ReplySlot {
  /** @internal */
  readonly low: number;
  /** @internal */
  readonly high: number;
  /** @internal */
  readonly machine: object;
  /** What has been asked of the invocation: it is frozen itself. @internal */
  context: Context | undefined;
  /** @internal */
  parsed: unknown;

  /** @internal */
  constructor(low: number, high: number, machine: object) {
    this.low = low;
    this.high = high;
    this.machine = machine;
    this.context = undefined;
    this.parsed = undefined;
  }

  /** A name that no other request of the machine has while this one is open. */
  get id(): string {
    return `${this.low}.${this.high}`;
  }
}

/** Write these bytes: one whole frame, newline included. Report them with `written` when they left. */
export class WriteAction {
  readonly kind = 'write';
  /** The frame. */
  readonly text: string;
  /** Its length in bytes, for `written`. */
  readonly byteLength: number;
  /** @internal */
  constructor() {
    this.byteLength = number();
    this.text = string();
    Object.freeze(this);
  }
  /** The frame as bytes. */
  get bytes(): Buffer {
    return Buffer.from(this.text, 'utf8');
  }
}

/** What a machine knows of a slot's request. @internal */
export interface Asked {
  context(slot: ReplySlot): string;
  ask(verb: string): string | null;
}

/** The answer to a question, by key: a result, or the error of a legacy client that refused. */
export type InputOutcome = { readonly result: JsonValue } | { readonly error: ErrorObject };

interface Snapshot {
  request_id: string | number | bigint;
  version: Version;
  is_modern: boolean;
  method: string;
  params: JsonObject;
  meta: JsonObject;
  client_info: Implementation | null;
  client_capabilities: JsonObject;
  progress_token: string | number | bigint | null;
  trace: [string | null, string | null, string | null];
  principal: string | null;
  can_ask: boolean;
  round: number;
  state: string | null;
  memo: JsonValue;
  state_token: number[] | null;
  inputs: { [key: string]: InputOutcome };
}

/**
 * The circumstances of a request. They are read when something is first asked for, which must be before the slot is
 * answered; what has been read stays.
 */
export class Context {
  readonly #slot: ReplySlot;
  #read: Snapshot | undefined;

  /** @internal */
  constructor(slot: ReplySlot) {
    this.#slot = slot;
    Object.freeze(this);
  }

  get #machine(): Asked {
    return this.#slot.machine as Asked;
  }

  get #all(): Snapshot {
    return (this.#read ??= parseJson(this.#machine.context(this.#slot)) as unknown as Snapshot);
  }

  /** The id of the request on the wire. */
  get requestId(): string | number | bigint {
    return this.#all.request_id;
  }
  /** The revision that the request is served at. */
  get version(): Version {
    return this.#all.version;
  }
  /** Whether that revision has an envelope in every request, or a session. */
  get era(): 'modern' | 'legacy' {
    return this.#all.is_modern ? 'modern' : 'legacy';
  }
  /** The method, for hooks. */
  get method(): string {
    return this.#all.method;
  }
  /** The params as they came; `{}` if absent. */
  get params(): JsonObject {
    return this.#all.params;
  }
  /** The `_meta` of the request; `{}` if absent. */
  get meta(): JsonObject {
    return this.#all.meta;
  }
  /** Name and version of the client: what it says of itself. */
  get clientInfo(): Implementation | undefined {
    return this.#all.client_info ?? undefined;
  }
  /** What the client can do. */
  get clientCapabilities(): JsonObject {
    return this.#all.client_capabilities;
  }
  /** The token that the client wants progress under. */
  get progressToken(): string | number | bigint | undefined {
    return this.#all.progress_token ?? undefined;
  }
  /** The trace context (W3C), as far as it is well-formed. */
  get traceContext(): { traceparent?: string; tracestate?: string; baggage?: string } {
    const [traceparent, tracestate, baggage] = this.#all.trace;
    return {
      ...(traceparent !== null && { traceparent }),
      ...(tracestate !== null && { tracestate }),
      ...(baggage !== null && { baggage }),
    };
  }
  /** Who is asking, as the front has authenticated it. */
  get principal(): string | undefined {
    return this.#all.principal ?? undefined;
  }
  /** Whether the client can be asked for input at all. */
  get canAsk(): boolean {
    return this.#all.can_ask;
  }
  /** How often input was asked for before this call. */
  get round(): number {
    return this.#all.round;
  }
  /** The state that the handler gave with its questions. */
  get state(): string | undefined {
    return this.#all.state ?? undefined;
  }
  /** The state that the front gave with the handler's questions. */
  get memo(): JsonValue | undefined {
    return this.#all.memo ?? undefined;
  }
  /** The random id of the sealed state that came with this call, 16 bytes. */
  get stateToken(): Uint8Array | undefined {
    const token = this.#all.state_token;
    return token === null ? undefined : Uint8Array.from(token);
  }
  /** Every answer so far, by key. */
  get inputs(): { readonly [key: string]: InputOutcome } {
    return this.#all.inputs;
  }
  /** The client's answer to the question with this key. */
  input(key: string): InputOutcome | undefined {
    const inputs = this.#all.inputs;
    return Object.hasOwn(inputs, key) ? inputs[key] : undefined;
  }
  /** The same for an elicitation, checked: what the user accepted fits the form that was asked. Before the answer. */
  elicited(key: string, asked: object): InputOutcome | undefined {
    const verb = JSON.stringify({ elicited: [[this.#slot.low, this.#slot.high], key, asked] });
    const text = this.#machine.ask(verb);
    if (text === null) return undefined;
    const told = parseJson(text) as { Ok: JsonValue } | { Err: JsonValue };
    return 'Ok' in told ? { result: told.Ok } : { error: told.Err as unknown as ErrorObject };
  }
  /** The refusal for a client without this capability, such as `sampling.tools`; `undefined` if it has it. */
  requireCapability(path: string): ErrorObject | undefined {
    const text = this.#machine.ask(JSON.stringify({ require_capability: [[this.#slot.low, this.#slot.high], path] }));
    return text === null ? undefined : (parseJson(text) as unknown as ErrorObject);
  }
}

abstract class InvocationBase {
  readonly kind = 'invoke';
  /** The right to answer. */
  readonly slot: ReplySlot;
  /** The revision that the request is served at. */
  readonly version: Version;
  /** How often input was asked for before. */
  readonly round: number;

  /** @internal */
  constructor(slot: ReplySlot) {
    this.slot = slot;
    this.round = number();
    this.version = string() as Version;
  }

  /** Who asks, and how. */
  get context(): Context {
    return (this.slot.context ??= new Context(this.slot));
  }
}

/** A tool to run; answer with `{tool: …}`. */
export class ToolInvocation extends InvocationBase {
  readonly call = 'tool';
  /** In the order of definition; `undefined` if the list of tools is dynamic. */
  readonly index: number | undefined;
  readonly name: string;
  /** The arguments as they came: the text of an object. */
  readonly rawArguments: string;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.index = index();
    this.name = string();
    this.rawArguments = string();
    Object.freeze(this);
  }
  /** The arguments, which fit the tool's schema. Parsed once, when asked for. */
  get arguments(): JsonObject {
    return (this.slot.parsed ??= parseJson(this.rawArguments)) as JsonObject;
  }
}

/** A prompt to fill in; answer with `{prompt: …}`. */
export class PromptInvocation extends InvocationBase {
  readonly call = 'prompt';
  readonly index: number | undefined;
  readonly name: string;
  readonly rawArguments: string;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.index = index();
    this.name = string();
    this.rawArguments = string();
    Object.freeze(this);
  }
  /** The arguments: texts by name. */
  get arguments(): { [name: string]: string } {
    return (this.slot.parsed ??= parseJson(this.rawArguments)) as { [name: string]: string };
  }
}

/** A resource to read; answer with `{resource: …}`. */
export class ReadInvocation extends InvocationBase {
  readonly call = 'read';
  /** What the URI leads to: a resource or a template by index, or the catch-all. */
  readonly target: 'resource' | 'template' | 'any';
  readonly index: number | undefined;
  /** The values of the template's variables. */
  readonly bindings: { readonly [name: string]: string | readonly string[] | { readonly [name: string]: string } };
  readonly uri: string;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.index = index();
    this.target = string() as ReadInvocation['target'];
    this.bindings = JSON.parse(optional() ?? '{}') as ReadInvocation['bindings'];
    this.uri = string();
    Object.freeze(this);
  }
}

/** Values for an argument; answer with `{completion: …}`. */
export class CompleteInvocation extends InvocationBase {
  readonly call = 'complete';
  readonly index: number | undefined;
  /** What the argument belongs to: a prompt by name, or a template by its text. */
  readonly reference: { readonly type: 'prompt' | 'template'; readonly name: string };
  readonly argument: string;
  /** What the user has typed so far. */
  readonly value: string;
  /** Arguments that are filled in already. */
  readonly filled: { readonly [name: string]: string };
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.index = index();
    this.reference = Object.freeze({ type: string() as 'prompt' | 'template', name: string() });
    this.argument = string();
    this.value = string();
    this.filled = JSON.parse(string()) as { [name: string]: string };
    Object.freeze(this);
  }
}

/** A page of a dynamic list; answer with `{list: …}`. */
export class ListInvocation extends InvocationBase {
  readonly call = 'list';
  readonly list: List;
  /** As a former page gave it; `""` is a cursor. */
  readonly cursor: string | undefined;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.list = string() as List;
    this.cursor = optional();
    Object.freeze(this);
  }
}

/** A whole method that the definition hands over; answer with `{raw: …}`. */
export class RawInvocation extends InvocationBase {
  readonly call = 'raw';
  readonly method: string;
  readonly rawParams: string;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.method = string();
    this.rawParams = string();
    Object.freeze(this);
  }
  /** The params as they came; `{}` if absent. */
  get params(): JsonObject {
    return (this.slot.parsed ??= parseJson(this.rawParams)) as JsonObject;
  }
}

/** A legacy session subscribes: agree with `{empty: null}`, refuse with `{error: …}`. */
export class SubscribeInvocation extends InvocationBase {
  readonly call = 'subscribe';
  readonly uri: string;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.uri = string();
    Object.freeze(this);
  }
}

/** A legacy session unsubscribes; answer with `{empty: null}`. */
export class UnsubscribeInvocation extends InvocationBase {
  readonly call = 'unsubscribe';
  readonly uri: string;
  /** @internal */
  constructor(slot: ReplySlot) {
    super(slot);
    this.uri = string();
    Object.freeze(this);
  }
}

/** Application code to run: told apart by `call`. Answer its slot. */
export type Invocation =
  | ToolInvocation
  | PromptInvocation
  | ReadInvocation
  | CompleteInvocation
  | ListInvocation
  | RawInvocation
  | SubscribeInvocation
  | UnsubscribeInvocation;

/** By their numbers. */
const INVOCATIONS: readonly (new (slot: ReplySlot) => Invocation)[] = [
  ToolInvocation,
  PromptInvocation,
  ReadInvocation,
  CompleteInvocation,
  ListInvocation,
  RawInvocation,
  SubscribeInvocation,
  UnsubscribeInvocation,
];

/** @internal */
export function readInvocation(machine: Asked): Invocation {
  const slot = new ReplySlot(number(), number(), machine);
  const call = number();
  if (call === 0) return new ToolInvocation(slot);
  return new (INVOCATIONS[call] as new (slot: ReplySlot) => Invocation)(slot);
}

/** The client does not want the answer any more. The slot stays valid, what it is answered with is dropped. */
export interface CancelledAction {
  readonly kind: 'cancelled';
  /** The `id` of the invocation's slot. */
  readonly slot: string;
  readonly reason: string | undefined;
}

/** A notification of the client for the application. */
export interface NotifiedAction {
  readonly kind: 'notified';
  readonly method: string;
  readonly params: JsonObject;
}

/** The client has answered a request that the application made with `request`. */
export interface AnsweredAction {
  readonly kind: 'answered';
  /** The request. */
  readonly call: number;
  readonly result: JsonValue | undefined;
  /** Why there is no result. */
  readonly failure: 'remote' | 'timed_out' | 'gone' | undefined;
  /** For `remote`: what the client answered. */
  readonly error: McpError | undefined;
}

/** Something worth a log line. It names causes, bounds and ids, never values. */
export interface DiagnosticAction {
  readonly kind: 'diagnostic';
  readonly what: DiagnosticKind;
  /** The bound, for `limit`. */
  readonly bound: string | undefined;
  /** The request that it concerns. */
  readonly id: string | number | bigint | undefined;
  readonly text: string;
}

/** The kinds of remarks. */
export type DiagnosticKind =
  | 'invalid_frame'
  | 'ignored'
  | 'refused'
  | 'limit'
  | 'deprecated'
  | 'request_state'
  | 'output'
  | 'muted'
  | 'advice'
  | 'exchange'
  | 'tool_dropped';

/** The connection is over: nothing more will be written. The last action. */
export interface ClosedAction {
  readonly kind: 'closed';
  readonly why: 'end_of_input' | 'requested' | 'failed' | 'not_connected';
  /** What it failed with. */
  readonly error: McpError | undefined;
}

/** @internal */
export function readCancelled(): CancelledAction {
  const slot = `${number()}.${number()}`;
  return Object.freeze({ kind: 'cancelled', slot, reason: optional() });
}

/** @internal */
export function readNotified(): NotifiedAction {
  return Object.freeze({ kind: 'notified', method: string(), params: parseJson(string()) as JsonObject });
}

/** @internal */
export function readAnswered(): AnsweredAction {
  const call = number();
  const result = optional();
  const failure = optional() as AnsweredAction['failure'];
  const error = optional();
  return Object.freeze({
    kind: 'answered',
    call,
    result: result === undefined ? undefined : parseJson(result),
    failure,
    error: error === undefined ? undefined : errorOf(error),
  });
}

/** @internal */
export function readDiagnostic(): DiagnosticAction {
  const what = string() as DiagnosticKind;
  const bound = optional();
  const id = optional();
  return Object.freeze({
    kind: 'diagnostic',
    what,
    bound,
    id: id === undefined ? undefined : (parseJson(id) as string | number | bigint),
    text: string(),
  });
}

/** @internal */
export function readClosed(): ClosedAction {
  const why = string() as ClosedAction['why'];
  const error = optional();
  return Object.freeze({ kind: 'closed', why, error: error === undefined ? undefined : errorOf(error) });
}
