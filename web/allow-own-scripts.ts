/**
 * The page's policy refuses text as HTML and as scripts (Trusted Types). The library's workers and the service worker are
 * named by address: those of this page are let through.
 */
export function allowOwnScripts(): void {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  trustedTypes?.createPolicy('default', {
    createScriptURL: (address) => {
      const { href, origin } = new URL(address, document.baseURI);
      return origin === location.origin ? href : null;
    },
  });
}

/** The part of the browser's Trusted Types that is used. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(address: string): string | null }): unknown;
}
