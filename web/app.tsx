import { options, render } from 'preact';
import { startServiceWorker } from './start-service-worker.ts';
import { AppState } from './state/app-state.ts';
import { Page } from './views/page.tsx';

// Tokens may arrive faster than the screen refreshes.
options.debounceRendering = (draw) => requestAnimationFrame(draw);

allowOwnScripts();

const state = new AppState();
const root = document.getElementById('app');
if (root) render(<Page state={state} />, root);

void startServiceWorker(() => !['empty', 'failed'].includes(state.session.status.peek().kind));

/**
 * The page's policy refuses text as HTML and as scripts (Trusted Types). The library's workers and the service worker are
 * named by address: those of this page are let through.
 */
function allowOwnScripts(): void {
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
