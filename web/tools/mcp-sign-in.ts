import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import {
  accessTo,
  answerTo,
  keepAccess,
  keepSignIn,
  leaveAnswer,
  type McpAnswer,
  signInTo,
} from './mcp-access.ts';
import { McpProblem } from './mcp-problem.ts';

/** Bytes of the random text that tells whose answer it is. */
const STATE_BYTES = 16;

/**
 * The sign-in at an MCP server, as the official SDK asks for it (OAuth 2.1 with PKCE). The page stays: where to sign in is a link
 * for the person, who comes back to `signed-in.html`, which leaves the answer in this browser's storage.
 */
export class McpSignInProvider implements OAuthClientProvider {
  readonly #address: string;
  /** The answer that a sign-in ends with. */
  #answer: McpAnswer | undefined;
  #link: URL | undefined;

  constructor(address: string) {
    this.#address = address;
  }

  /** Where the person signs in, once the server wants that. What is refused meanwhile begins no other sign-in. */
  get link(): URL | undefined {
    return this.#link;
  }

  get redirectUrl(): string {
    return new URL('./signed-in.html', document.baseURI).href;
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'rocmforge',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      // A page keeps no secrets from those who use it.
      token_endpoint_auth_method: 'none',
    };
  }

  state(): string {
    const { state: begun } = signInTo(this.#address);
    if (this.#link && begun !== undefined) return begun;
    const bytes = crypto.getRandomValues(new Uint8Array(STATE_BYTES));
    const state = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    keepSignIn(this.#address, { ...signInTo(this.#address), state });
    return state;
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return accessTo(this.#address).client;
  }

  saveClientInformation(client: OAuthClientInformationMixed): void {
    keepAccess(this.#address, { ...accessTo(this.#address), client });
  }

  tokens(): OAuthTokens | undefined {
    return accessTo(this.#address).tokens;
  }

  saveTokens(tokens: OAuthTokens): void {
    keepAccess(this.#address, { ...accessTo(this.#address), tokens });
    keepSignIn(this.#address, undefined);
    this.#link = undefined;
  }

  saveCodeVerifier(verifier: string): void {
    if (!this.#link) keepSignIn(this.#address, { ...signInTo(this.#address), verifier });
  }

  codeVerifier(): string {
    return signInTo(this.#address).verifier ?? '';
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    keepSignIn(this.#address, { ...signInTo(this.#address), discovery });
  }

  /** What a sign-in began with, it ends with: a server that says something else meanwhile gets no code. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#answer && signInTo(this.#address).discovery;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    const { client, tokens } = accessTo(this.#address);
    const isOf = (part: string) => scope === part || scope === 'all';
    keepAccess(this.#address, {
      client: isOf('client') ? undefined : client,
      tokens: isOf('tokens') ? undefined : tokens,
    });
    if (scope !== 'client' && scope !== 'tokens') keepSignIn(this.#address, undefined);
  }

  redirectToAuthorization(link: URL): void {
    // It becomes a link: others could run code.
    if (!/^https?:$/.test(link.protocol)) throw new TypeError(`no address to sign in at: ${link.protocol}`);
    this.#link ??= link;
  }

  /** The code of an answer to this sign-in; undefined if none has come. Throws `McpProblem` if the answer is a refusal. */
  code(): string | undefined {
    this.#answer = answerTo(this.#address);
    if (!this.#answer) return undefined;
    const { code, error, issuer } = this.#answer;
    const asked = signInTo(this.#address).discovery?.authorizationServerMetadata?.issuer;
    if (issuer !== undefined && asked !== undefined && issuer !== asked)
      throw new McpProblem('refused', `${issuer} answered for ${asked}`);
    if (code === undefined) throw new McpProblem('refused', error ?? 'no code');
    return code;
  }

  /** A code is good for one time, and so is a refusal. */
  forgetAnswer(): void {
    if (!this.#answer) return;
    this.#answer = undefined;
    leaveAnswer(undefined);
    keepSignIn(this.#address, undefined);
  }
}
