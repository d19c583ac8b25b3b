import { options, render } from 'preact';
import { AppState } from './state/app-state.ts';
import { Page } from './views/page.tsx';

// Tokens may come faster than the screen shows them.
options.debounceRendering = (draw) => requestAnimationFrame(draw);

const root = document.getElementById('app');
if (root) render(<Page state={new AppState()} />, root);

// The page works without it; only offline it does not.
void navigator.serviceWorker?.register('./service-worker.js').catch(() => {});
