/** What is wrong with an MCP server. */
export type McpProblemKind =
  /** It does not answer, or does not allow this page to ask. */
  | 'unreachable'
  /** It wants a key, or another. */
  | 'key'
  /** It wants the person to sign in. */
  | 'sign-in'
  /** It answers, but otherwise than such a server does. */
  | 'refused'
  /** It was there, and is gone: whether a call was done is not known. */
  | 'lost'
  /** It does not know the connection any more, and has done nothing. */
  | 'forgotten';

/** A failure of an MCP server; what it said itself is the message. */
export class McpProblem extends Error {
  readonly kind: McpProblemKind;
  /** Where the person signs in, if that is wanted. */
  readonly link: URL | undefined;

  constructor(kind: McpProblemKind, said = '', { link, ...options }: ErrorOptions & { link?: URL } = {}) {
    super(said, options);
    this.kind = kind;
    this.link = link;
  }
}
