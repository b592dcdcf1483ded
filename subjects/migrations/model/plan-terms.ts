/** Words of plans, as plain data: the engine's threads use them without the schemas. */

/** What a migration would do with a path. */
export const planActions = {
  COPY: 'Missing at the target',
  REPLACE: 'The target has something else with this name, which the policy replaces',
  COMPARE: 'The target has a file with this name and size; the content decides',
  SKIP: 'The policy keeps the version at the target, or a live migration finds it equal',
  EXCLUDE: 'An exclusion matches it, or no inclusion does',
  REFUSE: 'The target cannot store it, or something else is in its place',
  DELETE: 'Only at the target; deleted because of target match, or because a live migration copied it there',
  KEEP: 'Only at the target; stays, or something in it stays',
  UNREADABLE: 'It could not be read at the source or the target',
} as const
export type PlanAction = keyof typeof planActions
export const planActionNames = Object.keys(planActions) as PlanAction[]

/** What a plan counts; symbolic links are counted with the files. */
export const planCounts = {
  filesToCopy: 'Files missing at the target',
  bytesToCopy: 'Bytes of files missing at the target',
  filesToReplace: 'Files at the target that are replaced',
  bytesToReplace: 'Bytes of files that are replaced',
  filesToCompare: 'Files whose content is compared to decide whether they are copied',
  bytesToCompare: 'Bytes of files whose content is compared',
  filesToSkip: 'Files whose content at the target is kept',
  bytesToSkip: 'Bytes of files whose content at the target is kept',
  foldersToMake: 'Folders missing at the target',
  filesExcluded: 'Files excluded by rules',
  bytesExcluded: 'Bytes of files excluded by rules',
  foldersExcluded: 'Folders excluded by rules, with all their contents',
  pathsRefused: 'Paths that cannot be copied',
  filesToDelete: 'Files to delete at the target',
  bytesToDelete: 'Bytes of files to delete at the target',
  foldersToDelete: 'Folders to delete at the target',
  pathsKept:
    'Paths that exist only at the target and stay; the contents of a folder that stays as a whole are not counted',
  entriesAtTarget: 'Files and folders at the target',
  unreadablePaths: 'Paths that could not be read',
} as const
export type PlanCount = keyof typeof planCounts
export type PlanCounts = Record<PlanCount, number>

/** Where what is deleted goes, when it is kept: a folder at the root of the target. */
export const trashFolder = '.gantry-trash'
