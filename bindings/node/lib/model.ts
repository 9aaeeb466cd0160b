/** The shapes of the specification that applications write and read. Members that are not named here may stand too. */

import type { JsonObject, JsonValue, RawJson } from './json';

/** Further members: they are kept, and go out as they are. */
export interface Open {
  readonly [member: string]: unknown;
}

/** A picture. */
export interface Icon extends Open {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
}

/** A tool. Schemas are JSON Schema (2020-12 unless `$schema` says otherwise): an object, raw JSON, or its UTF-8 bytes. */
export interface Tool extends Open {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Of the arguments, which are checked before a handler sees them. Left out: any object. */
  readonly inputSchema?: object | RawJson | Uint8Array;
  /** Of `structuredContent`, which is checked before it goes out. */
  readonly outputSchema?: object | RawJson | Uint8Array;
  readonly annotations?: {
    readonly title?: string;
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
  readonly icons?: readonly Icon[];
}

/** A prompt. */
export interface Prompt extends Open {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

/** A resource. */
export interface Resource extends Open {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

/** A resource template (RFC 6570). */
export interface ResourceTemplate extends Open {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** A piece of content, by its `type`. Binary data is base64. */
export type Content =
  | ({ readonly type: 'text'; readonly text: string } & Open)
  | ({ readonly type: 'image'; readonly data: string; readonly mimeType: string } & Open)
  | ({ readonly type: 'audio'; readonly data: string; readonly mimeType: string } & Open)
  | ({ readonly type: 'resource_link'; readonly uri: string; readonly name: string } & Open)
  | ({ readonly type: 'resource'; readonly resource: ResourceContents } & Open);

/** The contents of a resource: text, or base64. */
export type ResourceContents =
  | ({ readonly uri: string; readonly mimeType?: string; readonly text: string } & Open)
  | ({ readonly uri: string; readonly mimeType?: string; readonly blob: string } & Open);

/** What a tool brings. */
export interface CallToolResult extends Open {
  readonly content?: readonly Content[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** What a prompt brings. */
export interface GetPromptResult extends Open {
  readonly description?: string;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: Content }[];
}

/** What a resource brings. */
export interface ReadResourceResult extends Open {
  readonly contents: readonly ResourceContents[];
}

/** Values for an argument, at most 100. */
export interface Completion extends Open {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

/** An error for a peer. */
export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A question for the client: a method of the specification that asks, and its params. */
export interface InputRequest {
  readonly method: string;
  readonly params?: object | RawJson;
}

/** The name and version of a client or a server. */
export interface Implementation extends Open {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** How severe a log message is, least severe first. */
export type LoggingLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';
/** A list of the catalogue. */
export type List = 'tools' | 'prompts' | 'resources' | 'templates';
/** A revision of the specification. */
export type Version = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28';

/** The bounds of a machine, by name. Times are milliseconds; `null` lifts those that can be lifted. */
export interface Limits {
  readonly frameBytes?: number;
  readonly jsonDepth?: number;
  readonly batchMessages?: number;
  readonly inFlight?: number;
  readonly calls?: number;
  readonly outputBytes?: number;
  readonly subscriptions?: number;
  readonly listenStreams?: number;
  readonly rounds?: number;
  readonly walkPages?: number;
  readonly walkItems?: number;
  readonly walkBytes?: number;
  readonly cacheEntries?: number;
  readonly requestStateBytes?: number;
  readonly requestStateTtlMs?: number;
  readonly inputRequests?: number;
  readonly resumeFloorMs?: number;
  readonly resumeBudgetMs?: number;
  readonly serverRequestMs?: number;
  readonly drainMs?: number;
  /** How long a handler may take. None by default. */
  readonly invocationMs?: number | null;
  readonly sessions?: number | null;
  readonly sessionIdleMs?: number | null;
  readonly listens?: number | null;
  readonly listensPerPrincipal?: number | null;
  readonly sessionStreams?: number;
}

/** `{frameBytes: 1}` as the native part reads it: `{frame_bytes: 1}`. @internal */
export function snake(object: object): Record<string, unknown> {
  const named = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    named.map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value as unknown]),
  );
}

export type { JsonObject, JsonValue };
