import { Breadcrumbs, Button, Modal, Text, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import type { Output } from '../../subjects/kit/contract.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { useAnswer } from '../data/calls.ts'
import { Failure } from './failure.tsx'
import { sizeText } from '../../subjects/kit/binary-size.ts'
import { Named } from './named.tsx'
import { type Column, Table } from './table.tsx'
import { timeColumn } from './time-column.tsx'

export interface Store {
  readonly fileSystemId: string
  readonly role: 'source' | 'target'
}

type Entry = Output<(typeof filesystems)['list-paths']>[number]

/** Entries of a folder that are shown: of more, a page of the next ones. */
const pageLength = 200

/** A name as people have it: paths are written with %25 for a percent sign, as other bytes are encoded in them. */
const nameOf = (path: string) => (path.replace(/\/$/, '').split('/').at(-1) ?? path).replaceAll('%25', '%')

/** What is in a filesystem, folder by folder. */
export function FolderBrowser({
  store,
  path,
  onOpen,
}: {
  readonly store: Store
  readonly path: string
  readonly onOpen: (path: string) => void
}) {
  const [after, setAfter] = useState<string>()
  const input = { ...store, path, limit: pageLength, ...(after !== undefined && { after }) }
  const { data, error, isPending } = useAnswer(filesystems['list-paths'], input)
  const open = (next: string) => {
    setAfter(undefined)
    onOpen(next)
  }
  const parts = path.split('/').filter((part) => part !== '')
  const columns: readonly Column<Entry>[] = [
    {
      label: 'Name',
      cell: (entry) =>
        entry.isDirectory ? (
          <UnstyledButton onClick={() => open(entry.path)} td="underline" fz="inherit">
            <Named>{`${nameOf(entry.path)}/`}</Named>
          </UnstyledButton>
        ) : (
          <Named>{nameOf(entry.path)}</Named>
        ),
      by: (entry) => entry.path,
      width: 2,
    },
    {
      label: 'Size',
      cell: ({ isDirectory, length }) => (isDirectory ? '' : sizeText(length)),
      by: ({ length }) => length,
    },
    // Some stores tell none.
    timeColumn('Modified', ({ modificationTime }) => modificationTime || undefined),
  ]
  return (
    <>
      <Breadcrumbs component="nav" aria-label="Folder" mb="sm">
        {['', ...parts].map((part, depth) => {
          const to = `/${parts.slice(0, depth).join('/')}`
          return (
            <UnstyledButton key={to} onClick={() => open(to)} td="underline" fz="sm">
              <Named>{part === '' ? '/' : part}</Named>
            </UnstyledButton>
          )
        })}
      </Breadcrumbs>
      {error && <Failure title={path} error={error} />}
      {isPending && !error && <Text role="status">Loading…</Text>}
      {data?.length === 0 && <Text>This folder is empty.</Text>}
      {data !== undefined && data.length > 0 && (
        <Table label={`Contents of ${path}`} rows={data} columns={columns} idOf={(entry) => entry.path} />
      )}
      {data?.length === pageLength && (
        <Button variant="default" size="xs" mt="sm" onClick={() => setAfter(data.at(-1)!.path)}>
          Next page
        </Button>
      )}
    </>
  )
}

/** A folder browser in which one is chosen. */
export function FolderPicker({
  store,
  isOpen,
  onClose,
  onChoose,
}: {
  readonly store: Store
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onChoose: (path: string) => void
}) {
  const [path, setPath] = useState('/')
  return (
    <Modal opened={isOpen} onClose={onClose} title="Choose a folder" size="xl">
      <FolderBrowser store={store} path={path} onOpen={setPath} />
      <Button
        mt="md"
        onClick={() => {
          onChoose(path)
          onClose()
        }}
      >
        {`Choose ${path}`}
      </Button>
    </Modal>
  )
}
