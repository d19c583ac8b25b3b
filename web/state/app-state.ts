import { effect, signal, untracked } from '@preact/signals';
import { readAttachment } from '../attachments/read-attachment.ts';
import { UnreadableFile } from '../attachments/unreadable-file.ts';
import { hold } from './tab-lock.ts';
import { takeAsked } from './address.ts';
import { ChatServer, type ServerModel } from './chat-server.ts';
import { Conversations } from './conversations.ts';
import { readConversations } from './exchange.ts';
import { keepLastModel, lastModel, openLast } from './last-model.ts';
import { type LoadRequest, ModelSession } from './model-session.ts';
import { ModelShelf } from './model-shelf.ts';
import { ServerEngine } from './server-engine.ts';
import { keptSettings } from './settings.ts';
import { TEXTS } from '../texts.ts';
import { Toolbox } from '../tools/toolbox.ts';

/** What files of conversations are called; any other JSON is a text. llama.cpp's page writes all that it has as an archive. */
const CONVERSATIONS = /\.(?:jsonl?|zip)$/i;
const JSON_LINES = /\.jsonl?$/i;

/** What is open above the page. */
export type OpenDialog =
  | { readonly kind: 'models' }
  | { readonly kind: 'settings' }
  /** The list; `isSearch`: to look for one. */
  | { readonly kind: 'conversations'; readonly isSearch?: boolean }
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

  #held: Promise<boolean> | undefined;

  constructor() {
    // What is stored has changed when a model has been loaded, or has not been.
    effect(() => {
      if (this.session.status.value.kind !== 'loading') void this.shelf.refresh();
    });
    // What the server wrote on while the page was away is shown.
    effect(() => {
      const { value: status } = this.session.status;
      const { value: conversation } = this.conversations.current;
      if (status.kind === 'ready') untracked(() => void conversation.resume(status.engine));
    });
    // A key that the server does not take any more is asked for where the server's models are.
    effect(() => {
      const isLocked = this.server.access.value === 'locked';
      const { value: status } = this.session.status;
      const isUsed = status.kind === 'ready' && status.engine.place === 'server';
      if (isLocked && isUsed) untracked(() => (this.dialog.value ??= { kind: 'models' }));
    });
    void this.server.refresh();
    void this.#begin();
  }

  /** Loads a model into this browser. The conversation stays. */
  async load(request: LoadRequest): Promise<void> {
    this.dialog.value = undefined;
    void this.#holdModel();
    await this.session.load(request);
    const { value: status } = this.session.status;
    if (status.kind !== 'ready' || status.engine.place !== 'browser') return;
    const { location, title } = request;
    await this.shelf.refresh();
    const kept = this.shelf.stored.value.find(({ id, url, name }) =>
      typeof location === 'object' && 'id' in location
        ? id === location.id
        : url === location || (url === undefined && name === title),
    );
    if (kept?.complete) keepLastModel({ place: 'browser', id: kept.id, title });
  }

  /** Uses a model of the server. The conversation stays. */
  async use(model: ServerModel): Promise<void> {
    this.dialog.value = undefined;
    keepLastModel({ place: 'server', id: model.id });
    await this.session.use(new ServerEngine(this.server, model));
  }

  /** Goes on with the model that the address asks for, or of the last visit, or the server's first, unless another was chosen meanwhile. */
  async #begin(): Promise<void> {
    const { message, model: wanted } = takeAsked();
    if (message !== undefined) this.conversations.current.value.write(message);
    const last = wanted === undefined ? lastModel() : ({ place: 'server', id: wanted } as const);
    if (last?.place === 'browser') await openLast(() => this.#loadKept(last));
    const end = effect(() => {
      const { value: models } = this.server.models;
      const model = models.find(({ id }) => id === last?.id) ?? models[0];
      if (!model || this.session.status.peek().kind !== 'empty') return;
      if (wanted === model.id) keepLastModel({ place: 'server', id: wanted });
      else if (wanted !== undefined)
        this.notice.value = { title: wanted, text: TEXTS.picker.absent(model.id) };
      void this.session.use(new ServerEngine(this.server, model));
      queueMicrotask(() => end());
    });
  }

  /** Loads a model that is kept whole, unless another tab has one: there may not be memory for two. */
  async #loadKept({ id, title }: { readonly id: string; readonly title: string }): Promise<void> {
    await this.shelf.refresh();
    const model = this.shelf.stored.value.find((of) => of.id === id);
    const isFree = model?.complete && (await this.#holdModel());
    if (isFree && this.session.status.value.kind === 'empty') await this.load({ location: model, title });
  }

  /** Lets other tabs know that there is a model in this one, as long as it is open; false if there is one in another. */
  #holdModel(): Promise<boolean> {
    return (this.#held ??= hold('model').then((release) => {
      if (!release) this.#held = undefined;
      return release !== undefined;
    }));
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
      const texts = await textsOf(file);
      const read = texts.flatMap(readConversations);
      if (read.length === 0) return false;
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

/** The text of a file, or those of the files in an archive. */
async function textsOf(file: File): Promise<string[]> {
  if ((await file.slice(0, 2).text()) !== 'PK') return [await file.text()];
  const { Archive } = await import('../attachments/archive.ts');
  const archive = new Archive(new Uint8Array(await file.arrayBuffer()));
  const texts: string[] = [];
  for (const name of archive.names.filter((of) => JSON_LINES.test(of)))
    texts.push((await archive.text(name)) ?? '');
  return texts;
}
