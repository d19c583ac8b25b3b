import { effect, signal } from '@preact/signals';
import { readAttachment } from '../attachments/read-attachment.ts';
import { UnreadableFile } from '../attachments/unreadable-file.ts';
import { ChatServer, type ServerModel } from './chat-server.ts';
import { Conversations } from './conversations.ts';
import { readConversations } from './exchange.ts';
import { type LoadRequest, ModelSession } from './model-session.ts';
import { ModelShelf } from './model-shelf.ts';
import { ServerEngine } from './server-engine.ts';
import { keptSettings } from './settings.ts';
import { TEXTS } from '../texts.ts';
import { Toolbox } from '../tools/toolbox.ts';

const LAST_MODEL = 'rocmforge last model';
/** What files of conversations are called; any other JSON is a text. */
const CONVERSATIONS = /\.jsonl?$/i;

/** What is open above the page. */
export type OpenDialog =
  | { readonly kind: 'models' }
  | { readonly kind: 'settings' }
  | { readonly kind: 'conversations' }
  | { readonly kind: 'conversation'; readonly id: string };

/** The state of the page. */
export class AppState {
  readonly settings = keptSettings();
  readonly server = new ChatServer();
  readonly shelf = new ModelShelf();
  readonly session = new ModelSession(this.settings);
  readonly toolbox = new Toolbox(this.settings);
  readonly conversations = new Conversations({ settings: this.settings, toolbox: this.toolbox });
  readonly dialog = signal<OpenDialog | undefined>(undefined);
  /** What is said in passing, such as that a file holds no model. */
  readonly notice = signal<{ readonly title: string; readonly text: string } | undefined>(undefined);

  constructor() {
    // What is stored has changed when a model has been loaded, or has not been.
    effect(() => {
      if (this.session.status.value.kind !== 'loading') void this.shelf.refresh();
    });
    void this.server.refresh();
    // The served model is there at once, unless another was chosen meanwhile.
    const end = effect(() => {
      const { value: models } = this.server.models;
      const model = models.find(({ id }) => id === lastServed()) ?? models[0];
      if (!model || this.session.status.peek().kind !== 'empty') return;
      void this.session.use(new ServerEngine(this.server, model));
      queueMicrotask(() => end());
    });
  }

  /** Loads a model into this browser. The conversation stays. */
  async load(request: LoadRequest): Promise<void> {
    this.dialog.value = undefined;
    await this.session.load(request);
  }

  /** Uses a model of the server. The conversation stays. */
  async use(model: ServerModel): Promise<void> {
    this.dialog.value = undefined;
    keepLastServed(model.id);
    await this.session.use(new ServerEngine(this.server, model));
  }

  /**
   * Takes the person's files: models, of which the first is opened, conversations, or texts, which go with the next message.
   * The conversation stays. Never rejects: a notice tells.
   */
  async takeFiles(files: readonly File[]): Promise<void> {
    const isModel = await Promise.all(files.map(async (file) => (await file.slice(0, 4).text()) === 'GGUF'));
    const models = files.filter((_, at) => isModel[at]).sort((a, b) => (a.name < b.name ? -1 : 1));
    const [first] = models;
    if (first) {
      return this.load({ location: models.length > 1 ? models : first, title: first.name });
    }
    for (const file of files) {
      const isTaken = CONVERSATIONS.test(file.name) && (await this.#import(file));
      if (!isTaken) await this.#attach(file);
    }
  }

  /** Takes files of conversations. Never rejects: a notice tells. */
  async importFiles(files: readonly File[]): Promise<void> {
    for (const file of files)
      if (!(await this.#import(file))) this.notice.value = { title: file.name, text: TEXTS.notTaken };
  }

  /** False if the file holds no conversations. */
  async #import(file: File): Promise<boolean> {
    try {
      const read = readConversations(await file.text());
      this.conversations.add(read);
      if (read[0]) await this.conversations.open(read[0].info.id);
      this.notice.value = { title: file.name, text: TEXTS.imported };
      return true;
    } catch {
      return false;
    }
  }

  async #attach(file: File): Promise<void> {
    const { attached } = this.conversations.current.value;
    try {
      const attachment = await readAttachment(file);
      attached.value = [...attached.value, attachment];
      // Without a model there is no field yet that shows it.
      if (this.session.status.value.kind !== 'ready')
        this.notice.value = { title: file.name, text: TEXTS.attachment.added };
    } catch (error) {
      const reason = error instanceof UnreadableFile ? error.reason : 'broken';
      this.notice.value = { title: file.name, text: TEXTS.attachment.reasons[reason] };
    }
  }
}

function lastServed(): string | null {
  try {
    return localStorage.getItem(LAST_MODEL);
  } catch {
    return null;
  }
}

function keepLastServed(id: string): void {
  try {
    localStorage.setItem(LAST_MODEL, id);
  } catch {
    // The first is used again.
  }
}
