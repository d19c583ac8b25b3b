import { options, render } from 'preact';
import { allowOwnScripts } from './allow-own-scripts.ts';
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
