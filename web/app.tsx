import { options, render } from 'preact';
import { startServiceWorker } from './start-service-worker.ts';
import { AppState } from './state/app-state.ts';
import { Page } from './views/page.tsx';

// Tokens may arrive faster than the screen refreshes.
options.debounceRendering = (draw) => requestAnimationFrame(draw);

const root = document.getElementById('app');
if (root) render(<Page state={new AppState()} />, root);

void startServiceWorker();
