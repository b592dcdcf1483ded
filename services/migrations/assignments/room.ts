/** What is to become of folders that are found. */
export interface Room {
  /** What is below them is to be listed with them. */
  readonly goesDeep: boolean
  /** That they are to get their times is not to be noted. */
  readonly leavesFolders: boolean
}
