// A conversation that goes on where it ended: `node chat.mjs [model]`. It is kept in talk.json.
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ChatSession, loadModel } from 'rocmforge';

const model = await loadModel(process.argv[2]);
const options = { maxTokens: 200 };
let session;
try {
  session = ChatSession.load(model, JSON.parse(readFileSync('talk.json', 'utf8')), options);
} catch {
  session = new ChatSession(model, options); // nothing has been said yet
}

const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
lines.prompt();
for await (const line of lines) {
  for await (const { text } of session.ask(line)) process.stdout.write(text);
  process.stdout.write('\n');
  writeFileSync('talk.json', JSON.stringify(session.save()));
  lines.prompt();
}
await model.dispose();
