import { render } from 'preact';
import { allowOwnScripts } from './allow-own-scripts.ts';
import { keptSettings } from './state/settings.ts';
import { BenchPage } from './views/bench-page.tsx';

allowOwnScripts();
// The colours are the chat page's.
keptSettings();

const root = document.getElementById('app');
if (root) render(<BenchPage />, root);
