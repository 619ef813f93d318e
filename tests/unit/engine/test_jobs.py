"""Jobs by uid and by the group that their pods bear the label of."""

from tests.kinds import batch_job, uid

from ganglift.base.ids import Key
from ganglift.engine.jobs import Jobs

G, H = Key("default", "g"), Key("default", "h")


def test_a_job_is_found_by_its_group_and_its_uid() -> None:
    jobs, job = Jobs(), batch_job("a").labelled("g").made
    assert jobs.put(job) == (G,)
    assert list(jobs.of_group(G)) == [job]
    assert jobs.by_uid == {job.uid: job}


def test_a_newer_version_takes_the_place_of_the_older() -> None:
    jobs = Jobs()
    jobs.put(batch_job("a").labelled("g").made)
    newer = batch_job("a").labelled("g").spec(parallelism=7).made
    jobs.put(newer)
    assert list(jobs.of_group(G)) == [newer]


def test_a_job_that_changes_its_label_concerns_both_groups() -> None:
    jobs = Jobs()
    jobs.put(batch_job("a").labelled("g").made)
    assert set(jobs.put(batch_job("a").labelled("h").made)) == {G, H}
    assert list(jobs.of_group(G)) == []
    assert [job.name for job in jobs.of_group(H)] == ["a"]


def test_a_job_that_loses_its_label_is_forgotten() -> None:
    jobs = Jobs()
    jobs.put(batch_job("a").labelled("g").made)
    assert jobs.put(batch_job("a").made) == (G,)
    assert jobs.by_uid == {}


def test_several_jobs_may_bear_one_label() -> None:
    jobs = Jobs()
    jobs.put(batch_job("a").labelled("g").made)
    jobs.put(batch_job("b").labelled("g").made)
    assert jobs.drop(uid("a-child")) == (G,)
    assert [job.name for job in jobs.of_group(G)] == ["b"]


def test_the_end_of_an_unknown_job_concerns_nobody() -> None:
    assert Jobs().drop(uid("a-child")) == ()
