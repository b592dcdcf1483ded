import { Button, CopyButton } from '@mantine/core'

/** Copies a text. @param what completes "Copy …" */
export const Copy = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <CopyButton value={text}>
    {({ copied, copy }) => (
      <Button size="compact-sm" variant="default" onClick={copy} aria-label={`Copy ${what}`}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
    )}
  </CopyButton>
)
