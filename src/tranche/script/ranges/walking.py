"""What stands in a query, at any depth of its FROM."""

from __future__ import annotations

from tranche.script.ranges.shape import (
    Body,
    Nested,
    Query,
    Relation,
    Select,
    SetOperation,
    Span,
    Values,
)


def selects_of(query: Query) -> list[Select]:
    """The SELECTs of a query, with those of the queries that it reads from."""
    found: list[Select] = []
    bodies: list[Body] = [query.body]
    while bodies:
        match bodies.pop():
            case Select() as select:
                found.append(select)
                for relation in flat(select.relations):
                    if relation.query is not None:
                        bodies.append(relation.query.body)
            case SetOperation(_, left, right):
                bodies += (left, right)
            case Nested(_, inner):
                bodies.append(inner.body)
            case Values():
                pass
    return found


def relations_of(query: Query) -> list[Relation]:
    return [relation for select in selects_of(query) for relation in flat(select.relations)]


def flat(relations: list[Relation]) -> list[Relation]:
    return [
        inner
        for relation in relations
        for inner in (flat(relation.joined) if relation.joined is not None else [relation])
    ]


def names_of(relations: list[Relation]) -> list[str]:
    return [relation.name[0].lower() for relation in flat(relations) if len(relation.name) == 1]


def expressions_of(select: Select) -> list[Span]:
    spans = [select.where, select.group, select.having, *select.items, *select.views]
    spans += (relation.condition for relation in flat(select.relations))
    return [span for span in spans if span is not None and span.end > span.start]


def has_cte(query: Query, name: str) -> bool:
    return any(cte.name.lower() == name for cte in query.ctes)
