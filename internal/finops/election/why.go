package election

// Why says in one clause, for the owner of a book that has lost, why it is the
// winner that holds the slot. The slot counts as taken: from the moment the
// winner has it, that it has it speaks for it.
func Why(winner, loser Book) string {
	winner.Incumbent, loser.Incumbent = true, false
	switch {
	case loser.Deleting:
		return "this one is being deleted"
	case loser.Outside:
		return "books of this namespace take no part in the election"
	case loser.tier() == tierBootstrap && winner.tier() == tierAnnotated:
		return "it is annotated as active, and this one is not"
	case loser.tier() == tierBootstrap:
		return "it holds the slot, and none is annotated as active"
	case winner.CreatedAt.After(loser.CreatedAt):
		return "both are annotated as active, and it is the younger one"
	default:
		return "both are annotated as active and equally old, and its name comes first"
	}
}
