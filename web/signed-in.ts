import { keptSettings } from './state/settings.ts';
import { TEXTS } from './texts.ts';
import { leaveAnswer } from './tools/mcp-access.ts';

// Where people come back to from signing in for an MCP server. The answer is left for the tab that waits for it, and taken out of
// the address.

// The colours are the chat page's.
keptSettings();
const { signedIn: TEXT } = TEXTS.mcp;
const given = new URLSearchParams(location.search);
history.replaceState(null, '', location.pathname);

const of = (name: string) => given.get(name) ?? undefined;
const state = of('state');
const error = of('error_description') ?? of('error');
const isLeft = state !== undefined && leaveAnswer({ state, code: of('code'), error, issuer: of('iss') });
const isDone = isLeft && of('code') !== undefined;

const title = document.createElement('h1');
title.textContent = isDone ? TEXT.title : TEXT.failed;
const text = document.createElement('p');
text.textContent = isDone ? TEXT.text : (error ?? TEXT.again);
const back = document.createElement('a');
back.href = './';
back.textContent = TEXTS.bench.back;
const main = document.createElement('main');
main.className = 'bench';
main.append(title, text, back);
document.body.append(main);
document.title = `rocmforge: ${title.textContent}`;
