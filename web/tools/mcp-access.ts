import type { OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';

/** What an MCP server's sign-in gave, kept in this browser under the server's address: tokens are sent nowhere else. */
export interface McpAccess {
  /** How the server that signs people in knows this page. */
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly tokens?: OAuthTokens | undefined;
}

/** A sign-in that has begun and waits for the person. It is the tab's own: another one begins another. */
export interface McpSignIn {
  /** Tells which answer is to this sign-in. */
  readonly state?: string | undefined;
  readonly verifier?: string | undefined;
  readonly discovery?: OAuthDiscoveryState | undefined;
}

/** What the page that people come back to was told. */
export interface McpAnswer {
  readonly state: string;
  readonly code?: string | undefined;
  readonly error?: string | undefined;
  /** Who answers, if it says so (RFC 9207). */
  readonly issuer?: string | undefined;
}

const ACCESS = 'rocmforge mcp access';
const SIGN_INS = 'rocmforge mcp sign-ins';
const ANSWER = 'rocmforge mcp answer';

/** Whether a key of this browser's storage is one that sign-ins change. */
export function isAccessKey(key: string | null): boolean {
  return key === ACCESS || key === ANSWER;
}

/** What is known of a server. */
export function accessTo(address: string): McpAccess {
  return recordOf<McpAccess>(read(localStorage, ACCESS))[address] ?? {};
}

/** Keeps what is known of a server; undefined: nothing any more. */
export function keepAccess(address: string, access: McpAccess | undefined): void {
  keep(localStorage, { key: ACCESS, address, value: access });
}

/** The tab's sign-in at a server. */
export function signInTo(address: string): McpSignIn {
  return recordOf<McpSignIn>(read(sessionStorage, SIGN_INS))[address] ?? {};
}

/** Keeps the tab's sign-in over a reload; undefined: there is none any more. */
export function keepSignIn(address: string, signIn: McpSignIn | undefined): void {
  keep(sessionStorage, { key: SIGN_INS, address, value: signIn });
}

/** The answer to the tab's sign-in at a server, if it has come. */
export function answerTo(address: string): McpAnswer | undefined {
  const answer = read(localStorage, ANSWER) as Partial<McpAnswer> | undefined;
  const { state } = signInTo(address);
  return state !== undefined && answer?.state === state ? { ...answer, state } : undefined;
}

/** Leaves an answer for the tab that waits for it; undefined: it was taken. False if the browser keeps nothing. */
export function leaveAnswer(answer: McpAnswer | undefined): boolean {
  try {
    if (answer === undefined) localStorage.removeItem(ANSWER);
    else localStorage.setItem(ANSWER, JSON.stringify(answer));
    return true;
  } catch {
    return false;
  }
}

function keep(storage: Storage, { key, address, value }: { key: string; address: string; value: unknown }) {
  const { [address]: _, ...others } = recordOf<unknown>(read(storage, key));
  try {
    storage.setItem(key, JSON.stringify(value === undefined ? others : { ...others, [address]: value }));
  } catch {
    // Storage is full or forbidden: people sign in again.
  }
}

function read(storage: Storage, key: string): unknown {
  try {
    return JSON.parse(storage.getItem(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

function recordOf<Value>(kept: unknown): Readonly<Record<string, Value | undefined>> {
  return typeof kept === 'object' && kept !== null ? (kept as Record<string, Value>) : {};
}
