import { createHash } from 'node:crypto';
import {
  constants,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fail } from '../../base/errors.ts';
import type { HubSettings } from './hub-settings.ts';
import { type HubName, type ModelName, modelNameText, parseModelName } from './model-name.ts';

/** A file of a snapshot: its path in the repository, where it is, and the size of what it links to. */
export interface KeptFile {
  readonly path: string;
  readonly location: string;
  readonly size: number;
}

/** The file in which a repository says how its model should be sampled. */
export const GENERATION_CONFIG = 'generation_config.json';

const MODELS = 'models--';
/** Names the model that a folder outside Hugging Face's cache is about. */
const ORIGIN = 'origin';
/** The one reference of a model that has no branches. */
const ONLY_REF = 'main';

/**
 * What is kept of one repository, in the layout that Hugging Face's libraries share: `blobs/` holds contents by their hash,
 * `snapshots/<commit>/` links to them by their paths, `refs/<branch>` names a commit. What those libraries have downloaded is
 * found here, and they find what is stored here.
 */
export class RepoFolder {
  readonly root: string;
  readonly folder: string;

  constructor(root: string, folder: string) {
    this.root = root;
    this.folder = folder;
  }

  /** The folder of a model; repositories of the hub are in its own cache. */
  static of(name: ModelName, settings: HubSettings): RepoFolder {
    if (name.kind === 'hub') {
      return new RepoFolder(settings.cache, `${MODELS}${name.repo.replaceAll('/', '--')}`);
    }
    const text = modelNameText(name);
    const readable = text
      .replace(/^\w+:\/*/, '')
      .replace(/[?#].*$/, '')
      .replace(/[^\w.-]+/g, '--')
      .slice(0, 120);
    // Texts that read alike may be different names.
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
    return new RepoFolder(settings.otherCache, `${name.kind}--${readable}--${hash}`);
  }

  get path(): string {
    return join(this.root, this.folder);
  }

  get blobs(): string {
    return join(this.path, 'blobs');
  }

  /** Where processes agree on who writes a blob. */
  claim(blob: string): string {
    return join(this.root, '.locks', this.folder, blob);
  }

  /** An unfinished download's files. */
  unfinished(blob: string): { readonly part: string; readonly journal: string } {
    const path = join(this.blobs, blob);
    return { part: `${path}.rocmforge-part`, journal: `${path}.rocmforge-journal` };
  }

  /** The commit of a branch or tag, or the commit itself; undefined if nothing of it is kept. */
  async commitOf(revision: string): Promise<string | undefined> {
    const text = await readFile(join(this.path, 'refs', revision), 'utf8').catch(() => undefined);
    const commit = text?.trim() ?? revision;
    const isKept = await stat(join(this.path, 'snapshots', commit)).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    return isKept && commit !== '' ? commit : undefined;
  }

  /** The files of a commit that are here whole. */
  async filesOf(commit: string): Promise<KeptFile[]> {
    const root = join(this.path, 'snapshots', commit);
    const entries = await readdir(root, { recursive: true }).catch(() => []);
    const files = await Promise.all(
      entries.map(async (entry): Promise<KeptFile[]> => {
        const location = join(root, entry);
        const stats = await stat(location).catch(() => undefined);
        const path = entry.replaceAll('\\', '/');
        return stats?.isFile() ? [{ path, location, size: stats.size }] : [];
      }),
    );
    return files.flat();
  }

  /** All commits of which something is kept. */
  async commits(): Promise<string[]> {
    return readdir(join(this.path, 'snapshots')).catch(() => []);
  }

  /** True if the content is here whole. */
  async has(blob: string, size: number | undefined): Promise<boolean> {
    const stats = await stat(join(this.blobs, blob)).catch(() => undefined);
    return stats?.isFile() === true && (size === undefined || stats.size === size);
  }

  /** Creates the folder of blobs. Rejects with `WRITE_FAILED`. */
  async prepare(): Promise<void> {
    await writing(join(this.blobs, 'a blob'), async () => {});
  }

  /** Makes a finished download a blob. Rejects with `WRITE_FAILED`. */
  async adopt(part: string, blob: string): Promise<void> {
    await writing(join(this.blobs, blob), (path) => rename(part, path));
  }

  /**
   * Puts a blob into a snapshot: by a link, or where links are not allowed (Windows without developer mode, some file systems) as
   * a copy, which shares the disk's blocks where the file system can. Returns the file's path. Rejects with `WRITE_FAILED`.
   */
  async link(commit: string, path: string, blob: string): Promise<string> {
    const target = join(this.blobs, blob);
    return writing(join(this.path, 'snapshots', commit, path), async (location) => {
      await mkdir(dirname(location), { recursive: true });
      const temporary = join(dirname(location), `.${basename(location)}.${process.pid}`);
      await rm(temporary, { force: true });
      try {
        await symlink(relative(dirname(location), target), temporary, 'file');
      } catch {
        await copyFile(target, temporary, constants.COPYFILE_FICLONE);
      }
      await rename(temporary, location);
    });
  }

  /** Notes which commit a branch is at. Rejects with `WRITE_FAILED`. */
  async setRef(revision: string, commit: string): Promise<void> {
    // A commit needs no reference to itself.
    if (revision === commit) return;
    await writing(join(this.path, 'refs', revision), (path) => replaceText(path, commit));
  }

  /** Notes of which model a folder is that no library but this one knows. Rejects with `WRITE_FAILED`. */
  async setOrigin(name: ModelName): Promise<void> {
    await writing(join(this.path, ORIGIN), (path) => replaceText(path, modelNameText(name)));
  }

  /** The model that the folder is about; undefined if it is none of ours, nor a repository of models. */
  async origin(settings: HubSettings): Promise<ModelName | undefined> {
    if (this.root === settings.cache) {
      const [, user, repo] = /^models--(.+?)--(.+)$/.exec(this.folder) ?? [];
      return repo === undefined
        ? undefined
        : ({ kind: 'hub', repo: `${user}/${repo}`, revision: ONLY_REF } satisfies HubName);
    }
    const text = await readFile(join(this.path, ORIGIN), 'utf8').catch(() => undefined);
    return text === undefined ? undefined : parseModelName(text, settings.endpoint);
  }
}

/** Every folder of either cache. */
export async function repoFolders({ cache, otherCache }: HubSettings): Promise<RepoFolder[]> {
  const found = await Promise.all(
    [cache, otherCache].map(async (root) => {
      const names = await readdir(root, { withFileTypes: true }).catch(() => []);
      return names
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
        .map(({ name }) => new RepoFolder(root, name));
    }),
  );
  return found.flat();
}

async function replaceText(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

/** Writes a file whose folder is created. */
async function writing(path: string, write: (path: string) => Promise<void>): Promise<string> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await write(path);
    return path;
  } catch (cause) {
    return fail(
      'WRITE_FAILED',
      { path, reason: cause instanceof Error ? cause.message : String(cause) },
      cause,
    );
  }
}
