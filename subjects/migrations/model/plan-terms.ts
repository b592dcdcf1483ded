/** Words of plans, as plain data: the engine's threads use them without the schemas. */

/** What a migration would do with a path. */
export const planActions = {
  COPY: 'It is not at the target',
  REPLACE: 'The target has something else of its name, which the policy does not leave',
  COMPARE: 'The target has a file of its name and size: its content decides',
  SKIP: 'The policy leaves what the target has, or a live migration finds it the same',
  EXCLUDE: 'An exclusion leaves it out, or no inclusion matches it',
  REFUSE: 'The target cannot hold it, or something stands in its way',
  DELETE:
    'It is at the target only, and the migration matches the target, or is live and has brought it there',
  KEEP: 'It is at the target only, and stays, or something in it does',
  UNREADABLE: 'A store did not let it be looked at',
} as const
export type PlanAction = keyof typeof planActions
export const planActionNames = Object.keys(planActions) as PlanAction[]

/** What a plan counts; symbolic links are counted with the files. */
export const planCounts = {
  filesToCopy: 'Files that are not at the target',
  bytesToCopy: 'Their bytes',
  filesToReplace: 'Files that are at the target, and are copied over it',
  bytesToReplace: 'Their bytes',
  filesToCompare: 'Files whose content decides whether they are copied',
  bytesToCompare: 'Their bytes',
  filesToSkip: 'Files whose content is left as it is at the target',
  bytesToSkip: 'Their bytes',
  foldersToMake: 'Folders that are not at the target',
  filesExcluded: 'Files that are left out',
  bytesExcluded: 'Their bytes',
  foldersExcluded: 'Folders that are left out with all that is in them',
  pathsRefused: 'Paths that will not arrive, as things are',
  filesToDelete: 'Files of the target that are deleted',
  bytesToDelete: 'Their bytes',
  foldersToDelete: 'Folders of the target that are deleted',
  pathsKept:
    'Paths that are at the target only, and stay; what is in a folder that stays as a whole is not counted',
  entriesAtTarget: 'Files and folders that are at the target',
  unreadablePaths: 'Paths that could not be looked at',
} as const
export type PlanCount = keyof typeof planCounts
export type PlanCounts = Record<PlanCount, number>

/** Where what is deleted goes, when it is kept: a folder at the root of the target. */
export const trashFolder = '.gantry-trash'
