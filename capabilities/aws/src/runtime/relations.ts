// The edges of AWS resources in the graph of derived objects: an object refers to what its fields name.
import type { RelationSource } from '@fairlead/controller'
import { kindRelations } from '@fairlead/references'
import { resourceKinds } from '../engine/kinds.ts'

/** The edges that begin or end at an AWS resource. They need no right to read CustomResourceDefinitions. */
export const relations: RelationSource = {
  relations: (object, read) => kindRelations(object, resourceKinds, read),
}
