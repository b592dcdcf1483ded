/**
 * Why an operation on a store failed, as the engine needs to know it:
 * `gone` nothing there; `changed` another version than before; `permission` this object is not ours to touch;
 * `refused` the credentials are wrong, or nobody may write to the store; `unreachable` network or service down;
 * `throttled` asked to slow down; `name` the store cannot hold this name; `too-large`; `unsupported` this type of entry;
 * `full` no space left; `corrupt` what was written is not what the target has; `collision` another path of the source goes
 * to this place of the target; `crashed` worker threads ended each time that they worked on it; `io` anything else.
 */
export const failureClasses = {
  gone: { retryable: false },
  changed: { retryable: true },
  permission: { retryable: false },
  refused: { retryable: true },
  unreachable: { retryable: true },
  throttled: { retryable: true },
  name: { retryable: false },
  'too-large': { retryable: false },
  unsupported: { retryable: false },
  full: { retryable: true },
  corrupt: { retryable: true },
  collision: { retryable: false },
  crashed: { retryable: false },
  io: { retryable: true },
} as const
export type FailureClass = keyof typeof failureClasses

export const failureClassNames = Object.keys(failureClasses) as FailureClass[]
