import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  type CallToolResult,
  type ContentBlock,
  type Tool,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';
import { config } from 'zod/v4';
import { McpProblem } from './mcp-problem.ts';
import { McpSignInProvider } from './mcp-sign-in.ts';
import type { SandboxResult } from './sandbox.ts';

// It would try whether scripts may be made of text, which the page's policy forbids and reports.
config({ jitless: true });

/** How long a server may take to answer, or to tell of a call's progress. */
const MOST_MILLISECONDS = 60_000;
/** Pages of a server's list of tools; one that has more repeats itself. */
const MOST_PAGES = 50;

/** A connection to a server of the Model Context Protocol, by its Streamable HTTP transport. */
export class McpConnection {
  /** Is called when the server's tools have changed. */
  onchange: (() => void) | undefined;
  readonly #client: Client;
  readonly #door: Door;
  #onerror: (() => void) | undefined;

  private constructor(client: Client, door: Door) {
    this.#client = client;
    this.#door = door;
  }

  /** Connects, without headers of the person's as whom the person signed in. Throws `McpProblem`. */
  static async open(address: URL, headers: Readonly<Record<string, string>>): Promise<McpConnection> {
    // What a tool returns goes to a model, which takes any form: nothing is compiled to check it, which the policy forbids.
    const jsonSchemaValidator: jsonSchemaValidator = {
      getValidator<T>() {
        return (data: unknown) => ({ valid: true, data: data as NonNullable<T>, errorMessage: undefined });
      },
    };
    const client = new Client({ name: 'rocmforge', version: '1' }, { jsonSchemaValidator });
    const isSignedIn = Object.keys(headers).length === 0;
    const door = { isLocked: false, signIn: isSignedIn ? new McpSignInProvider(address.href) : undefined };
    const connection = new McpConnection(client, door);
    client.onerror = (error) => {
      // Who has to sign in is answered so; nothing was lost.
      if (!(error instanceof UnauthorizedError)) connection.#onerror?.();
    };
    const transport = new StreamableHTTPClientTransport(address, {
      requestInit: { headers },
      ...(door.signIn && { authProvider: door.signIn }),
      fetch: async (url, init) => {
        // The person's cookies are not this page's.
        const response = await fetch(url, { ...init, credentials: 'omit', cache: 'no-store' });
        door.isLocked ||= response.status === 401 && String(url) === address.href;
        return response;
      },
    });
    try {
      if (door.signIn) await endSignIn(transport, door.signIn);
      // The types of the SDK do not know exact optional properties.
      await client.connect(transport as Parameters<Client['connect']>[0], { timeout: MOST_MILLISECONDS });
    } catch (error) {
      await client.close();
      throw problemOf(error, 'unreachable', door);
    }
    door.isLocked = false;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => connection.onchange?.());
    return connection;
  }

  /** The server's tools. Throws `McpProblem`. */
  async tools(): Promise<readonly Tool[]> {
    const all: Tool[] = [];
    if (!this.#client.getServerCapabilities()?.tools) return all;
    let cursor: string | undefined;
    try {
      for (let page = 0; page < MOST_PAGES; page++) {
        const asked = cursor === undefined ? {} : { cursor };
        const list = await this.#client.listTools(asked, { timeout: MOST_MILLISECONDS });
        all.push(...list.tools);
        cursor = list.nextCursor;
        if (cursor === undefined) break;
      }
    } catch (error) {
      throw problemOf(error, 'lost', this.#door);
    }
    return all;
  }

  /** Calls a tool. Throws `McpProblem`, and what it is aborted with. */
  async call(name: string, values: Record<string, unknown>, signal: AbortSignal): Promise<SandboxResult> {
    const lost = new Promise<never>((_, reject) => {
      // A stream that breaks off leaves its call unanswered: whether the server is still there is asked.
      const ask = () => this.#client.ping({ timeout: MOST_MILLISECONDS });
      this.#onerror = () =>
        void ask().catch((error: unknown) => reject(problemOf(error, 'lost', this.#door)));
    });
    lost.catch(() => {});
    try {
      const called = this.#client.callTool({ name, arguments: values }, undefined, {
        signal,
        timeout: MOST_MILLISECONDS,
        resetTimeoutOnProgress: true,
        onprogress: () => {},
      });
      const result = (await Promise.race([called, lost])) as CallToolResult;
      return { isFailed: result.isError === true, text: textOf(result) };
    } catch (error) {
      signal.throwIfAborted();
      throw problemOf(error, 'lost', this.#door);
    } finally {
      this.#onerror = undefined;
    }
  }

  /** Never rejects: a server that is gone has nothing to be told. */
  async close(): Promise<void> {
    await this.#client.close().catch(() => {});
  }
}

/** Whether a server lets the page in. */
interface Door {
  /** Whether it refused a request without a key, or with a wrong one. */
  isLocked: boolean;
  /** How the person signs in, where there is no key. */
  readonly signIn: McpSignInProvider | undefined;
}

/** Takes the answer of a sign-in that began here, if it has come. */
async function endSignIn(transport: StreamableHTTPClientTransport, signIn: McpSignInProvider): Promise<void> {
  try {
    const code = signIn.code();
    if (code !== undefined) await transport.finishAuth(code);
  } finally {
    signIn.forgetAnswer();
  }
}

/** Statuses of servers that do not know a session. */
const FORGOTTEN = new Set([400, 404]);

/** What `fetch` throws says nothing but that it failed: then the problem is `failed`. */
function problemOf(error: unknown, failed: 'unreachable' | 'lost', { isLocked, signIn }: Door): McpProblem {
  if (error instanceof McpProblem) return error;
  const said = error instanceof Error ? error.message : String(error);
  if (error instanceof UnauthorizedError && signIn?.link)
    return new McpProblem('sign-in', said, { cause: error, link: signIn.link });
  // There is nowhere to sign in.
  if (isLocked && signIn) return new McpProblem('key', said, { cause: error });
  if (error instanceof TypeError) return new McpProblem(failed, said, { cause: error });
  if (!(error instanceof StreamableHTTPError)) return new McpProblem('refused', said, { cause: error });
  const { code = 0 } = error;
  const isForgotten = failed === 'lost' && FORGOTTEN.has(code);
  const kind = code === 401 || code === 403 ? 'key' : isForgotten ? 'forgotten' : 'refused';
  return new McpProblem(kind, said, { cause: error });
}

/** More would fill the model's context. */
const MOST_CHARACTERS = 32_768;

/** A result in words for the model. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const said = content.map(blockText).filter((text) => text !== '');
  if (said.length === 0 && structuredContent !== undefined) said.push(JSON.stringify(structuredContent));
  const text = said.join('\n');
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}\n…` : text;
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'resource_link':
      return `${block.name}: ${block.uri}`;
    case 'resource':
      return 'text' in block.resource ? block.resource.text : unread(block.resource);
    case 'image':
    case 'audio':
      return unread(block);
  }
}

/** What models here cannot read is named, not left out. */
function unread({ mimeType = 'data' }: { mimeType?: string | undefined }): string {
  return `(${mimeType}, which cannot be read here)`;
}
