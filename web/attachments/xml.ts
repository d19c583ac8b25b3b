/** A piece of an XML text. */
export type XmlEvent =
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

const MARKUP =
  /<!\[CDATA\[(?<data>[^]*?)\]\]>|<!--[^]*?-->|<[?!][^>]*>|<(?<end>\/?)(?<name>[^\s/>]+)(?<attributes>(?:"[^"]*"|'[^']*'|[^>"'])*?)(?<alone>\/?)>|(?<text>[^<]+)/g;

/**
 * The elements and texts of XML, in order; an empty element opens and closes. Not the browser's parser, which a page without
 * text as HTML may not use, and which would build a tree of a document that is read once.
 */
export function* xmlEvents(xml: string): Generator<XmlEvent, void> {
  for (const { groups = {} } of xml.matchAll(MARKUP)) {
    const { data, text, end, name, attributes = '', alone } = groups;
    if (data !== undefined) yield { kind: 'text', text: data };
    else if (text !== undefined) yield { kind: 'text', text: unescaped(text) };
    else if (name === undefined) continue;
    else if (end !== '') yield { kind: 'close', name };
    else {
      yield { kind: 'open', name, attributes };
      if (alone !== '') yield { kind: 'close', name };
    }
  }
}

/** The value of an attribute; undefined if the element has none of this name. */
export function attribute(attributes: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  const value = match?.[1] ?? match?.[2];
  return value === undefined ? undefined : unescaped(value);
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi,
    (whole: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
    },
  );
}
