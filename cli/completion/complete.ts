import type { Context, Globals } from '../context.ts'
import { candidatesFor, candidatesText, foreignWord, valueOf } from './candidates.ts'
import { keepTree, keptTree } from './kept-tree.ts'
import { namesOf } from './names.ts'
import type { CommandNode } from './tree.ts'

/** Prints what the last of the words can become. Resolves to the exit code. @param words what was typed after the program's name */
export async function complete(context: Context, words: readonly string[]): Promise<number> {
  const [server, tokenFile] = [valueOf(words, '--server'), valueOf(words, '--token-file')]
  const globals: Globals = {
    ...(server !== undefined && { server }),
    ...(tokenFile !== undefined && { tokenFile }),
  }
  const tree = await treeFor(context, globals, words)
  const candidates = await candidatesFor(tree, words, (list) => namesOf(context, globals, list))
  context.terminal.out(candidatesText(candidates))
  return context.exitCode
}

async function treeFor(context: Context, globals: Globals, words: readonly string[]): Promise<CommandNode> {
  const tree = keptTree() ?? keepTree(await grown(context))
  const word = foreignWord(tree, words)
  if (word === undefined) return tree
  const { growExtension } = await import('./grow.ts')
  return growExtension(context, globals, word)
}

async function grown(context: Context): Promise<CommandNode> {
  const { grow } = await import('./grow.ts')
  return grow(context)
}
