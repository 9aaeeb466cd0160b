/** Errors: classes by blame. */

import { parseJson, type JsonValue } from './json';

/**
 * Whose fault an error is.
 *
 * | blame | whose | what to do |
 * |---|---|---|
 * | `api_misuse` | yours | fix the code; no peer can cause it |
 * | `invalid_frame` | the peer's | bytes that are no message |
 * | `peer_misbehaved` | the peer's | a message that the protocol forbids |
 * | `peer_incompatible` | nobody's | nothing in common, or the connection is gone |
 * | `limit_exceeded` | whoever grew | a bound, by name |
 * | `remote` | the peer says: ours | an error that the peer answered |
 */
export type Blame =
  | 'api_misuse'
  | 'invalid_frame'
  | 'peer_misbehaved'
  | 'peer_incompatible'
  | 'limit_exceeded'
  | 'remote';

/** What the native part tells of an error. @internal */
export interface Told {
  blame: Blame;
  message: string;
  code: number;
  data?: JsonValue | null;
  bound?: string | null;
  limit?: number | null;
  kind?: string | null;
  exchange?: string | null;
  status?: number | null;
  key?: string | null;
  result?: JsonValue | null;
  partial?: JsonValue[] | null;
  /** What has hindered this side. */
  cause?: unknown;
}

/** The base of all errors of this package. */
export class McpError extends Error {
  /** Whose fault it is. */
  readonly blame: Blame;
  /** The JSON-RPC code that a peer is told, or has told. */
  readonly code: number;
  /** The data that goes with the code; `undefined` if there is none. */
  readonly data: JsonValue | undefined;

  /** @internal */
  constructor(told: Told) {
    super(told.message, told.cause === undefined ? undefined : { cause: told.cause });
    this.name = new.target.name;
    this.blame = told.blame;
    this.code = told.code;
    this.data = told.data ?? undefined;
  }
}

/** The code that drives a machine broke its contract: a slot used twice, a verb after the end, a wrong argument. */
export class MisuseError extends McpError {}
/** Bytes that are no message. */
export class InvalidFrameError extends McpError {}
/** The peer sent what the protocol forbids. */
export class PeerMisbehavedError extends McpError {}
/** No common revision or capability, or nobody is there any more. */
export class PeerIncompatibleError extends McpError {}
/** The peer answered with an error: `code`, `message` and `data` are the peer's. */
export class RemoteError extends McpError {}

/** A bound was hit. */
export class LimitError extends McpError {
  /** Its name, such as `frame_bytes`. */
  readonly bound: string;
  /** Its value. */
  readonly limit: number;

  /** @internal */
  constructor(told: Told) {
    super(told);
    this.bound = told.bound ?? '';
    this.limit = told.limit ?? 0;
  }
}

/** How a call failed. */
export type CallErrorKind =
  | 'remote'
  | 'timed_out_idle'
  | 'timed_out_hard'
  | 'cancelled'
  | 'disconnected'
  | 'invalid_result'
  | 'output_invalid'
  | 'input_unsupported'
  | 'input_refused'
  | 'rounds_exceeded'
  | 'bound_exceeded'
  | 'incompatible'
  | 'exchange'
  | 'mirror'
  | 'not_in_version'
  | 'capability_missing';

/** How an HTTP exchange failed. */
export type ExchangeErrorKind =
  | 'status'
  | 'redirected'
  | 'unauthorized'
  | 'content_type'
  | 'too_long'
  | 'malformed'
  | 'ended'
  | 'not_sent'
  | 'broken'
  | 'session_lost';

/** Why a call of a client has no result. Comes in a `done` action; it is not thrown by this package. */
export class CallError extends McpError {
  /** How it failed. */
  readonly kind: CallErrorKind;
  /** The bound, for `bound_exceeded` and `rounds_exceeded`. */
  readonly bound: string | undefined;
  /** The bound's value. */
  readonly limit: number | undefined;
  /** For `exchange`: how. */
  readonly exchange: ExchangeErrorKind | undefined;
  /** For `exchange`: the HTTP status, where there was one. */
  readonly status: number | undefined;
  /** For `input_unsupported` and `input_refused`: the key of the question. */
  readonly key: string | undefined;
  /** For `invalid_result` and `output_invalid`: the result as it came. */
  readonly result: JsonValue | undefined;
  /** For `bound_exceeded`: what a walk had read until then. */
  readonly partial: JsonValue[] | undefined;

  /** @internal */
  constructor(told: Told) {
    super(told);
    this.kind = told.kind as CallErrorKind;
    this.bound = told.bound ?? undefined;
    this.limit = told.limit ?? undefined;
    this.exchange = (told.exchange as ExchangeErrorKind | null) ?? undefined;
    this.status = told.status ?? undefined;
    this.key = told.key ?? undefined;
    this.result = told.result ?? undefined;
    this.partial = told.partial ?? undefined;
  }
}

const CLASSES = {
  api_misuse: MisuseError,
  invalid_frame: InvalidFrameError,
  peer_misbehaved: PeerMisbehavedError,
  peer_incompatible: PeerIncompatibleError,
  limit_exceeded: LimitError,
  remote: RemoteError,
};

/** The error that a text tells. @internal */
export function errorOf(text: string): McpError {
  const told = parseJson(text) as unknown as Told;
  return new CLASSES[told.blame](told);
}

/** @internal */
export function callErrorOf(text: string): CallError {
  return new CallError(parseJson(text) as unknown as Told);
}

/** A misuse that is found out on this side. @internal */
export function misuse(message: string, cause?: unknown): MisuseError {
  return new MisuseError({ blame: 'api_misuse', message, code: -32603, cause });
}

/** What is thrown instead of what the native part has thrown. @internal */
export function translated(error: unknown): unknown {
  if (error instanceof McpError) return error;
  if (error instanceof Error && error.message.startsWith('{"blame"')) return errorOf(error.message);
  // An argument of a type that the native part does not take.
  return error instanceof Error ? misuse(error.message) : error;
}
