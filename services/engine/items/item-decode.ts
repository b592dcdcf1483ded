import { type ActionPolicy, actionPolicyNames } from '../../../subjects/migrations/model/terms.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import {
  encodeItem,
  malformed,
  maxItemTextBytes,
  maxPartsInItem,
  maxRegionFolders,
  maxTransferNames,
  type ChangedFolder,
  type FileGroup,
  type FolderGroup,
  type Item,
  type Rest,
  type Spread,
} from './items.ts'
import { changeScopes } from '../../drivers/feeds/dirty-folders.ts'
import { bytesFromJson, isName, isPath } from './paths.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * An item from bytes, its shape, bounds and every name checked; throws INVALID_INPUT. Written by hand: a schema's
 * validator would cost every worker thread 20 MB and a quarter of a second at its start.
 */
export function decodeItem(bytes: Uint8Array): Item {
  let json: unknown
  try {
    json = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
  } catch (error) {
    throw malformed('no JSON', error)
  }
  const { threadEnds, ...fields } = objectOf(json, 'item')
  const head = {
    attempt: countOf(fields['attempt'], 'attempt'),
    notBeforeMs: countOf(fields['notBeforeMs'], 'notBeforeMs'),
    ...policyOf(fields['policy']),
  }
  // For whoever hands the item out: what is made of it has ended no threads.
  if (threadEnds !== undefined) countOf(threadEnds, 'threadEnds')
  const { kind } = fields
  switch (kind) {
    case 'region':
    case 'folders': {
      checkFields(fields, ['policy', 'isDeep', 'start', 'groups', ...(kind === 'region' ? ['rest'] : [])])
      const groups = listOf(fields['groups'], maxRegionFolders, 'groups').map(folderGroupOf)
      checkTotal(
        groups.map(({ names }) => names.length),
        maxRegionFolders,
      )
      const start = fields['start'] === undefined ? {} : { start: pathOf(fields['start'], 'start') }
      return { kind, ...head, ...depthOf(fields['isDeep']), ...start, ...restOf(fields), groups }
    }
    case 'transfer': {
      checkFields(fields, ['policy', 'groups', 'found'])
      const groups = listOf(fields['groups'], maxTransferNames, 'groups').map(fileGroupOf)
      const lengths = groups.map(({ files, others }) => files.length + others.length)
      checkTotal(lengths, maxTransferNames)
      const sizes = foundOf(fields['found'], sumOf(lengths))
      return { kind: 'transfer', ...head, groups: sizes === undefined ? groups : withSizes(groups, sizes) }
    }
    case 'reconcile': {
      checkFields(fields, ['policy', 'isDeep', 'groups'])
      const groups = listOf(fields['groups'], maxRegionFolders, 'groups').map(changedFolderOf)
      checkTotal(
        groups.map(({ names, trees }) => names.length + trees.length),
        maxTransferNames,
      )
      return { kind, ...head, ...depthOf(fields['isDeep']), groups }
    }
    case 'large':
      checkFields(fields, ['policy', 'path', 'spread', 'found'])
      return {
        kind,
        ...head,
        path: pathOf(fields['path'], 'path'),
        ...spreadOf(fields['spread']),
        ...largeFoundOf(fields['found']),
      }
    case 'parts':
      checkFields(fields, ['policy', ...partsFields])
      return { kind, ...head, ...partsOf(fields) }
    default:
      throw malformed('no known kind')
  }
}

/** An item of folders to list or to compare, as a deep one. */
export function deepItem(bytes: Uint8Array): Uint8Array {
  const item = decodeItem(bytes)
  const isOfFolders = item.kind === 'region' || item.kind === 'reconcile'
  return isOfFolders ? encodeItem({ ...item, isDeep: true }) : bytes
}

function depthOf(json: unknown): { isDeep?: true } {
  if (json === undefined) return {}
  if (json !== true) throw malformed('isDeep is not true')
  return { isDeep: true }
}

function policyOf(json: unknown): { policy?: ActionPolicy } {
  if (json === undefined) return {}
  const policy = actionPolicyNames.find((known) => known === json)
  if (policy === undefined) throw malformed('no known policy')
  return { policy }
}

function restOf({ rest, start }: Fields): { rest?: Rest } {
  if (rest === undefined) return {}
  if (start === undefined) throw malformed('the rest of no folder')
  const fields = objectOf(rest, 'rest')
  checkFields(fields, ['cursor', 'isMade'], 0)
  const isMade = fields['isMade']
  if (typeof isMade !== 'boolean') throw malformed('isMade is neither true nor false')
  return { rest: { cursor: textOf(fields['cursor'], 'cursor'), isMade } }
}

function folderGroupOf(json: unknown): FolderGroup {
  const fields = objectOf(json, 'groups[]')
  checkFields(fields, ['parent', 'names', 'modes'], 0)
  const names = listOf(fields['names'], maxRegionFolders, 'names').map(nameOf)
  const group = { parent: pathOf(fields['parent'], 'parent'), names }
  if (fields['modes'] === undefined) return group
  const modes = listOf(fields['modes'], maxRegionFolders, 'modes').map((mode) => countOf(mode, 'modes[]'))
  if (modes.length !== names.length) throw malformed('modes are not as many as names')
  return { ...group, modes }
}

function fileGroupOf(json: unknown): FileGroup {
  const fields = objectOf(json, 'groups[]')
  checkFields(fields, ['folder', 'files', 'others'], 0)
  return {
    folder: pathOf(fields['folder'], 'folder'),
    files: listOf(fields['files'], maxTransferNames, 'files').map(nameOf),
    others: listOf(fields['others'], maxTransferNames, 'others').map(nameOf),
  }
}

/** Undefined in items from before sizes were kept, and of what was not listed. */
function foundOf(json: unknown, length: number): readonly number[] | undefined {
  if (json === undefined) return undefined
  const sizes = listOf(json, maxTransferNames, 'found').map((size) => countOf(size, 'found[]'))
  if (sizes.length !== length) throw malformed('found has not as many sizes as there are names')
  return sizes
}

function largeFoundOf(json: unknown): { foundBytes?: number } {
  const [foundBytes] = foundOf(json, 1) ?? []
  return foundBytes === undefined ? {} : { foundBytes }
}

function withSizes(groups: readonly FileGroup[], sizes: readonly number[]): FileGroup[] {
  let from = 0
  return groups.map((group) => {
    const to = from + group.files.length + group.others.length
    const its = sizes.slice(from, to)
    from = to
    return { ...group, sizes: its }
  })
}

/** Bytes of the files of an item as they were found, as far as it says. */
export function foundBytesOf(bytes: Uint8Array): number {
  const item = decodeItem(bytes)
  if (item.kind === 'large') return item.foundBytes ?? 0
  return item.kind === 'transfer' ? sumOf(item.groups.flatMap(({ sizes = [] }) => sizes)) : 0
}

function changedFolderOf(json: unknown): ChangedFolder {
  const fields = objectOf(json, 'groups[]')
  checkFields(fields, ['folder', 'names', 'trees', 'scope'], 0)
  const scope = changeScopes.find((one) => one === fields['scope'])
  if (scope === undefined) throw malformed('no known scope')
  return {
    folder: pathOf(fields['folder'], 'folder'),
    names: listOf(fields['names'], maxTransferNames, 'names').map(nameOf),
    trees: listOf(fields['trees'], maxTransferNames, 'trees').map(nameOf),
    scope,
  }
}

function spreadOf(json: unknown): { spread?: Spread } {
  if (json === undefined) return {}
  const fields = objectOf(json, 'spread')
  checkFields(fields, ['token', 'written', 'sinceMs', 'resumedBytes', 'sizeBytes'], 0)
  return {
    spread: {
      token: textOf(fields['token'], 'token'),
      written: countOf(fields['written'], 'written'),
      sinceMs: countOf(fields['sinceMs'], 'sinceMs'),
      resumedBytes: countOf(fields['resumedBytes'], 'resumedBytes'),
      // It only goes into figures: a queue from before it was there is worked on.
      sizeBytes: countOf(fields['sizeBytes'] ?? 0, 'sizeBytes'),
    },
  }
}

const partsFields = ['path', 'token', 'sizeBytes', 'partBytes', 'version', 'first', 'count'] as const

function partsOf(fields: Fields) {
  const parts = {
    path: pathOf(fields['path'], 'path'),
    token: textOf(fields['token'], 'token'),
    sizeBytes: countOf(fields['sizeBytes'], 'sizeBytes'),
    partBytes: countOf(fields['partBytes'], 'partBytes'),
    version: textOf(fields['version'], 'version'),
    first: countOf(fields['first'], 'first'),
    count: countOf(fields['count'], 'count'),
  }
  const { partBytes, sizeBytes, first, count } = parts
  if (count > maxPartsInItem) throw malformed(`more than ${maxPartsInItem} parts`)
  if (partBytes === 0 || (first + count - 1) * partBytes >= sizeBytes)
    throw malformed('parts that the file has not')
  return parts
}

/** Fields that every item has. */
const headFields = 3

function checkFields(fields: Fields, known: readonly string[], headCount = headFields): void {
  const found = known.filter((name) => fields[name] !== undefined).length
  if (Object.keys(fields).length !== found + headCount)
    throw malformed(`other fields than ${known.join(', ')}`)
}

function objectOf(json: unknown, what: string): Fields {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw malformed(`${what} is no object`)
  return Object.fromEntries(Object.entries(json))
}

function listOf(json: unknown, maxLength: number, what: string): readonly unknown[] {
  if (!Array.isArray(json)) throw malformed(`${what} is no list`)
  if (json.length > maxLength) throw malformed(`${what} has more than ${maxLength} entries`)
  return json
}

function countOf(json: unknown, what: string): number {
  if (typeof json !== 'number' || !Number.isSafeInteger(json) || json < 0)
    throw malformed(`${what} is no count`)
  return json
}

function textOf(json: unknown, what: string): string {
  if (typeof json !== 'string' || json.length > maxItemTextBytes) throw malformed(`${what} is no text`)
  return json
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

function checkTotal(counts: readonly number[], max: number): void {
  if (sumOf(counts) > max) throw malformed(`more than ${max} names`)
}

function bytesOf(json: unknown, what: string): Buffer {
  if (typeof json === 'string') return bytesFromJson(json)
  const fields = objectOf(json, what)
  if (typeof fields['b'] !== 'string' || Object.keys(fields).length !== 1)
    throw malformed(`${what} is no text`)
  return bytesFromJson({ b: fields['b'] })
}

function nameOf(json: unknown): Buffer {
  const name = bytesOf(json, 'name')
  if (!isName(name)) throw malformed('a name that no entry can have')
  return name
}

function pathOf(json: unknown, what: string): StorePath {
  const path = bytesOf(json, what)
  if (!isPath(path)) throw malformed(`${what} is no path`)
  return path
}
