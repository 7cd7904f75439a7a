/*
 * A process is killed; another one must go on.
 *
 * Copyright (C) 2026 the ntvfs developers
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The victim works in a directory of its own, the survivor in another, both in
 * a third. The victim is killed in one of three ways: at the n-th pass of a
 * kill point; after n machine instructions of a call; at any moment. Then the
 * survivor must finish calls within a moment; its tree is what its model says;
 * the victim's tree is as before or after the call it died in; the checker
 * finds nothing. In a third of the cases the survivor is killed as well, so
 * that everybody is dead and the segment alone knows the open group.
 */

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "killpoint.h"
#include "torture.h"
#include "workload.h"

#define POINTS_MOST 256
#define PACKED_MOST (3 * 1024 * 1024)
#define PATIENCE 100		/* milliseconds until the survivor goes on */
#define SLOW_MACHINE 5000	/* then something is really wrong */

enum how {
	AT_POINT,
	AFTER_INSTRUCTIONS,
	AT_ANY_MOMENT,
	HOWS
};

static const char *const how_names[HOWS] = {
	"at a kill point", "after so many instructions", "at any moment",
};

/* What an actor tells, so that it outlives it. */
struct actor {
	_Atomic uint64_t steps;
	_Atomic uint32_t stop;
	_Atomic uint32_t ready;
	_Atomic uint32_t failed;
	/* which of tree is the present one; IN_CALL: a call leads to the
	 * other one. One word, because an actor can die between any two */
	_Atomic uint32_t state;
	uint64_t root;
	char problem[TREE_PROBLEM_SIZE];
	char call[256];
	uint8_t tree[2][PACKED_MOST];
};

#define IN_CALL 2

struct kill_shared {
	uint32_t points;
	char point[POINTS_MOST][96];
	uint64_t passes[POINTS_MOST];
	uint64_t kills[POINTS_MOST];
	uint64_t how[HOWS];
	uint64_t worst;		/* milliseconds */
	uint64_t slow;		/* cases over PATIENCE */
	struct actor victim;
	struct actor survivor;
};

struct case_of {
	struct torture *torture;
	uint64_t seed;
	char image[96];
	enum how how;
	uint32_t point;
	uint64_t pass;		/* of the point; the call to be stepped */
	uint64_t instructions;
	uint64_t microseconds;
	bool victim_first;	/* attaches first */
	bool kill_both;
};

static struct kill_shared *shared;

/* ---- the hooks ---- */

static void count_points(const char *name)
{
	uint32_t i;

	for (i = 0; i < shared->points; i++) {
		if (strcmp(shared->point[i], name) == 0) {
			shared->passes[i]++;
			return;
		}
	}
	if (shared->points < POINTS_MOST) {
		snprintf(shared->point[i], sizeof(shared->point[i]), "%s",
			 name);
		shared->passes[i] = 1;
		shared->points++;
	}
}

static const char *deadly_point;
static uint64_t deadly_pass;
static uint64_t stop_at;	/* stop before this call; 0: never */

static void die_at_point(const char *name)
{
	if (strcmp(name, deadly_point) != 0) {
		return;
	}
	deadly_pass--;
	if (deadly_pass == 0) {
		kill(getpid(), SIGKILL);
	}
}

static void short_sleep(void)
{
	struct timespec pause = {.tv_nsec = 200000};

	nanosleep(&pause, NULL);
}

/* ---- actors ---- */

static struct nv_volume *attach_file(const struct torture *torture,
				     const char *image, char *problem)
{
	struct nv_attach_params params = {
		.segment_directory = torture->directory,
		.commit_interval = 1000000,
	};
	char message[NV_MESSAGE_SIZE] = "";
	struct nv_volume *volume = NULL;
	struct nv_io *io = NULL;
	enum nv_status status;
	int ret;

	ret = nv_io_open(image, false, &io);
	if (ret != 0) {
		snprintf(problem, TREE_PROBLEM_SIZE, "open %s: %s", image,
			 strerror(ret));
		return NULL;
	}
	status = nv_volume_attach(io, &params, &volume, message);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "attach: %s (%s)",
			 nv_status_string(status), message);
		io->ops->close(io);
		return NULL;
	}
	return volume;
}

static void set_units(uint16_t *units, struct nv_name *name, const char *text)
{
	uint32_t i;

	for (i = 0; text[i] != 0; i++) {
		units[i] = (uint16_t)(unsigned char)text[i];
	}
	name->units = units;
	name->length = i;
}

/* A directory below the root, made if need be. */
static enum nv_status make_directory(struct nv_volume *volume,
				     const char *text, nv_file_id *id)
{
	struct nv_create_params params = {.type = NV_DIRECTORY};
	struct nv_volume_statistics statistics;
	struct nv_found found;
	uint16_t units[16];
	enum nv_status status;

	set_units(units, &params.name, text);
	status = nv_volume_statistics(volume, &statistics);
	if (status != NV_OK) {
		return status;
	}
	status = nv_create(volume, statistics.root_directory, &params, id);
	if (status != NV_ERR_EXISTS) {
		return status;
	}
	status = nv_lookup(volume, statistics.root_directory, &params.name,
			   &found);
	*id = found.id;
	return status;
}

/* In the directory of both: make, change, rename, remove a file. */
static enum nv_status work_together(struct nv_volume *volume,
				    nv_file_id common, char who,
				    uint64_t step)
{
	struct nv_create_params params = {.type = NV_FILE};
	struct nv_info info = {.attributes = (uint32_t)step};
	struct nv_name to;
	uint16_t from_units[24];
	uint16_t to_units[24];
	enum nv_status status;
	nv_file_id id = 0;
	char text[24];

	snprintf(text, sizeof(text), "%c-%llu", who, (unsigned long long)step);
	set_units(from_units, &params.name, text);
	snprintf(text, sizeof(text), "%llu-%c", (unsigned long long)step, who);
	set_units(to_units, &to, text);
	status = nv_create(volume, common, &params, &id);
	if (status == NV_OK) {
		status = nv_write(volume, id, 0, text, sizeof(text), step);
	}
	if (status == NV_OK) {
		status = nv_set_info(volume, common, NV_INFO_ATTRIBUTES,
				     &info);
	}
	if (status == NV_OK) {
		status = nv_rename(volume, common, &params.name, id, common,
				   &to, NULL, step, 0);
	}
	if (status == NV_OK) {
		status = nv_unlink(volume, common, &to, id, step);
	}
	return status;
}

static void pack(const struct model *model, uint8_t *place)
{
	struct tree *tree = model_tree(model);

	if (tree_pack(tree, place, PACKED_MOST) == 0) {
		fprintf(stderr, "a tree is too large to be packed\n");
		_exit(2);
	}
	tree_free(tree);
}

/* The id that an object has until the engine has told its own. */
#define ID_TO_COME UINT64_C(0xffffffffffff)

/* The engine refuses what the model does: say so, and how the volume is. */
static void tell_refusal(struct actor *actor, struct workload *workload)
{
	enum nv_status refusal = workload->engine_status;
	struct nv_volume_statistics statistics = {0};

	nv_volume_statistics(workload->volume, &statistics);
	snprintf(actor->problem, sizeof(actor->problem), "step %llu: the "
		 "engine says \"%s\", the model says \"success\"; free "
		 "blocks %llu, group %llu open, %llu durable%s",
		 (unsigned long long)workload->steps,
		 nv_status_string(refusal),
		 (unsigned long long)statistics.free_blocks,
		 (unsigned long long)statistics.open_group,
		 (unsigned long long)statistics.durable_group,
		 statistics.withdrawn ? "; withdrawn" : "");
}

/* One call; actor->tree tells what it leads from and to. */
static bool actor_step(struct actor *actor, struct workload *workload)
{
	uint32_t state = atomic_load(&actor->state);
	struct model_object *made = NULL;

	workload_choose(workload);
	snprintf(actor->call, sizeof(actor->call), "%s", workload->work.text);
	if (workload->work.kind == WORK_LOOKUP ||
	    workload->work.kind == WORK_READ) {
		workload_run_engine(workload);
		return workload_run_model(workload, actor->problem);
	}

	/* The model goes first: its answer is needed if we die. */
	workload->engine_id = ID_TO_COME;
	workload->engine_status = NV_OK;
	if (!workload_run_model(workload, actor->problem)) {
		/* It is refused, nothing changes. Ask the engine, too. */
		workload_run_engine(workload);
		return workload_run_model(workload, actor->problem);
	}
	pack(workload->model, actor->tree[1 - state]);
	atomic_store(&actor->state, state | IN_CALL);
	if (stop_at != 0 && workload->steps >= stop_at) {
		/* From here on our parent counts instructions. */
		raise(SIGSTOP);
	}
	workload_run_engine(workload);
	if (workload->engine_status != NV_OK) {
		tell_refusal(actor, workload);
		return false;
	}
	made = model_find(workload->model, ID_TO_COME);
	if (made != NULL) {
		made->id = workload->engine_id;
		made->info.id = workload->engine_id;
	}
	atomic_store(&actor->state, 1 - state);
	return true;
}

static bool actor_tree_is_right(struct actor *actor, struct nv_volume *volume,
				char *problem)
{
	uint32_t state = atomic_load(&actor->state);
	uint32_t present = state & 1;
	struct tree *before = tree_unpack(actor->tree[present]);
	struct tree *after = before;
	struct tree *found = NULL;
	bool ok = false;

	if ((state & IN_CALL) != 0) {
		after = tree_unpack(actor->tree[1 - present]);
	}
	found = tree_of_volume(volume, actor->root, problem);
	if (found != NULL) {
		ok = tree_is_between(before, after, found, problem);
		tree_free(found);
	}
	if (after != before) {
		tree_free(after);
	}
	tree_free(before);
	return ok;
}

/* Works until it is told to stop, or dies. */
static bool act(const struct case_of *this, struct actor *actor, char who,
		uint64_t steps)
{
	char text[8] = {who, 0};
	struct workload workload;
	struct nv_volume *volume = NULL;
	struct model *model = NULL;
	nv_file_id common = 0;
	enum nv_status status;

	volume = attach_file(this->torture, this->image, actor->problem);
	if (volume == NULL) {
		return false;
	}
	status = make_directory(volume, text, &actor->root);
	if (status == NV_OK) {
		status = make_directory(volume, "common", &common);
	}
	if (status != NV_OK) {
		snprintf(actor->problem, sizeof(actor->problem),
			 "making directories: %s", nv_status_string(status));
		return false;
	}
	model = model_new(volume, actor->root);
	pack(model, actor->tree[0]);
	workload_init(&workload, volume, model, this->seed + (uint64_t)who);
	workload.bytes_most = 500 * 1024;
	workload.file_most = 100 * 1024;
	atomic_store(&actor->ready, 1);
	while (atomic_load(&actor->stop) == 0 && workload.steps < steps) {
		if (!actor_step(actor, &workload)) {
			return false;
		}
		if (workload.steps % 3 == 0) {
			status = work_together(volume, common, who,
					       workload.steps);
			if (status != NV_OK) {
				snprintf(actor->problem,
					 sizeof(actor->problem), "work in the "
					 "common directory, step %llu: %s",
					 (unsigned long long)workload.steps,
					 nv_status_string(status));
				return false;
			}
		}
		atomic_fetch_add(&actor->steps, 1);
	}
	if (!actor_tree_is_right(actor, volume, actor->problem)) {
		return false;
	}
	workload_done(&workload);
	model_free(model);
	status = nv_volume_detach(volume);
	if (status != NV_OK) {
		snprintf(actor->problem, sizeof(actor->problem),
			 "detach: %s", nv_status_string(status));
		return false;
	}
	return true;
}

static pid_t start(const struct case_of *this, struct actor *actor, char who,
		   bool doomed)
{
	pid_t child;

	memset(actor, 0, offsetof(struct actor, tree));
	fflush(stdout);
	child = fork();
	if (child != 0) {
		return child;
	}
	alarm(60);
	nv_kill_point_hook = NULL;
	if (doomed && this->how == AT_POINT) {
		deadly_point = shared->point[this->point];
		deadly_pass = this->pass;
		nv_kill_point_hook = die_at_point;
	}
	if (doomed && this->how == AFTER_INSTRUCTIONS) {
		stop_at = this->pass;
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	}
	if (!act(this, actor, who, doomed ? this->torture->steps * 8 :
		 UINT64_MAX)) {
		atomic_store(&actor->failed, 1);
		_exit(1);
	}
	_exit(0);
}

static bool wait_ready(struct actor *actor, pid_t child, int *status)
{
	while (atomic_load(&actor->ready) == 0) {
		if (waitpid(child, status, WNOHANG) == child) {
			return false;
		}
		short_sleep();
	}
	return true;
}

/* ---- one case ---- */

static bool format_file(const struct case_of *this, char *problem)
{
	static const uint32_t inode_sizes[] = {512, 256, 1024, 4096};
	struct nv_format_params params = {
		.inode_size = inode_sizes[this->seed % 4],
		.segment_directory = this->torture->directory,
	};
	struct nv_io *io = NULL;
	enum nv_status status;
	int ret;

	if (this->torture->inode_size != 0) {
		params.inode_size = this->torture->inode_size;
	}
	unlink(this->image);
	ret = nv_io_create(this->image, this->torture->mebibytes << 20, &io);
	if (ret != 0) {
		snprintf(problem, TREE_PROBLEM_SIZE, "%s: %s", this->image,
			 strerror(ret));
		return false;
	}
	status = nv_volume_format(io, &params);
	io->ops->close(io);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "format: %s",
			 nv_status_string(status));
		return false;
	}
	return true;
}

/* After everybody has gone: attach, compare, detach, check. */
static bool judge_image(void *argument, char *problem)
{
	struct case_of *this = argument;
	struct nv_volume *volume = NULL;
	struct nv_io *io = NULL;
	enum nv_status status;
	bool ok;

	nv_kill_point_hook = NULL;
	volume = attach_file(this->torture, this->image, problem);
	if (volume == NULL) {
		return false;
	}
	if (shared->victim.root != 0 &&
	    atomic_load(&shared->victim.ready) != 0 &&
	    !actor_tree_is_right(&shared->victim, volume, problem)) {
		return false;
	}
	if (atomic_load(&shared->survivor.ready) != 0 &&
	    !actor_tree_is_right(&shared->survivor, volume, problem)) {
		return false;
	}
	status = nv_volume_detach(volume);
	if (status != NV_OK) {
		snprintf(problem, TREE_PROBLEM_SIZE, "detach: %s",
			 nv_status_string(status));
		return false;
	}
	if (nv_io_open(this->image, true, &io) != 0) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the image is gone");
		return false;
	}
	ok = torture_check_clean(io, "after detach", problem);
	io->ops->close(io);
	return ok;
}

/* Milliseconds until the survivor has finished a call begun afterwards. */
static uint64_t time_to_go_on(pid_t survivor, int *status)
{
	uint64_t steps = atomic_load(&shared->survivor.steps);
	uint64_t begun = torture_milliseconds();
	uint64_t now = begun;

	while (atomic_load(&shared->survivor.steps) < steps + 2 &&
	       now - begun < SLOW_MACHINE) {
		if (waitpid(survivor, status, WNOHANG) == survivor) {
			return UINT64_MAX;
		}
		short_sleep();
		now = torture_milliseconds();
	}
	return now - begun;
}

/* The victim has stopped itself before a call: make some steps, kill it. */
static void step_and_kill(const struct case_of *this, pid_t victim)
{
	int status = 0;
	uint64_t i;

	if (waitpid(victim, &status, 0) != victim || !WIFSTOPPED(status)) {
		return;
	}
	for (i = 0; i < this->instructions; i++) {
		if (ptrace(PTRACE_SINGLESTEP, victim, NULL, NULL) != 0 ||
		    waitpid(victim, &status, 0) != victim ||
		    !WIFSTOPPED(status)) {
			return;
		}
	}
	kill(victim, SIGKILL);
}

static void wait_and_kill(const struct case_of *this, pid_t victim)
{
	struct timespec pause = {
		.tv_nsec = (long)this->microseconds * 1000,
	};

	while (atomic_load(&shared->victim.ready) == 0 &&
	       kill(victim, 0) == 0 && pause.tv_nsec > 0) {
		short_sleep();
		pause.tv_nsec -= 200000;
	}
	if (pause.tv_nsec > 0) {
		nanosleep(&pause, NULL);
	}
	kill(victim, SIGKILL);
}

static bool run_survivor(struct case_of *this, pid_t survivor, pid_t *victim,
			 bool *killed, char *problem)
{
	uint64_t target;
	uint64_t took;
	int status = 0;

	if (*victim == 0) {
		*victim = start(this, &shared->victim, 'V', true);
	}
	if (this->how == AFTER_INSTRUCTIONS) {
		step_and_kill(this, *victim);
	} else if (this->how == AT_ANY_MOMENT) {
		wait_and_kill(this, *victim);
	}
	if (waitpid(*victim, &status, 0) != *victim) {
		snprintf(problem, TREE_PROBLEM_SIZE, "waitpid");
		return false;
	}
	*killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!*killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the victim, status "
			 "%x: %.400s", status, shared->victim.problem);
		return false;
	}
	if (this->kill_both) {
		kill(survivor, SIGKILL);
		waitpid(survivor, &status, 0);
		return true;
	}
	took = time_to_go_on(survivor, &status);
	if (took >= SLOW_MACHINE) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the survivor %s "
			 "(last call: %.200s) %.200s",
			 took == UINT64_MAX ? "failed" : "did not go on",
			 shared->survivor.call, shared->survivor.problem);
		if (took != UINT64_MAX) {
			kill(survivor, SIGKILL);
			waitpid(survivor, &status, 0);
		}
		return false;
	}
	if (took > shared->worst) {
		shared->worst = took;
	}
	if (took > PATIENCE) {
		shared->slow++;
	}
	target = atomic_load(&shared->survivor.steps) + 10;
	while (atomic_load(&shared->survivor.steps) < target &&
	       waitpid(survivor, &status, WNOHANG) != survivor) {
		short_sleep();
	}
	atomic_store(&shared->survivor.stop, 1);
	waitpid(survivor, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the survivor, status "
			 "%x, in %.150s: %.250s", status,
			 shared->survivor.call, shared->survivor.problem);
		return false;
	}
	return true;
}

static bool run_case(struct case_of *this, bool *killed, char *problem)
{
	pid_t survivor;
	pid_t victim = 0;
	int status = 0;

	if (!format_file(this, problem)) {
		return false;
	}
	memset(&shared->survivor, 0, offsetof(struct actor, tree));
	if (this->victim_first) {
		victim = start(this, &shared->victim, 'V', true);
	}
	survivor = start(this, &shared->survivor, 'S', false);
	if (!wait_ready(&shared->survivor, survivor, &status)) {
		snprintf(problem, TREE_PROBLEM_SIZE, "the survivor cannot "
			 "begin, status %x: %.300s", status,
			 shared->survivor.problem);
		if (victim != 0) {
			kill(victim, SIGKILL);
			waitpid(victim, &status, 0);
		}
		return false;
	}
	if (!run_survivor(this, survivor, &victim, killed, problem)) {
		kill(survivor, SIGKILL);
		waitpid(survivor, &status, WNOHANG);
		return false;
	}
	return torture_in_child(judge_image, this, 30, problem);
}

/* Which kill points are there, and how often are they passed? */
static bool calibrate(void *argument, char *problem)
{
	struct case_of *this = argument;

	nv_kill_point_hook = count_points;
	if (!format_file(this, problem)) {
		return false;
	}
	if (!act(this, &shared->victim, 'V', 300)) {
		snprintf(problem, TREE_PROBLEM_SIZE, "%s",
			 shared->victim.problem);
		return false;
	}
	return true;
}

static void choose_case(struct case_of *this)
{
	struct seed choice = seed_derive(this->seed, 0xdead);
	uint64_t most;

	/* Each point in turn, so that none is left out. */
	this->point = (uint32_t)(this->seed % shared->points);
	most = shared->passes[this->point] / 4 + 1;
	if (most > 200) {
		most = 200;
	}
	this->pass = 1 + seed_below(&choice, most);
	this->victim_first = seed_chance(&choice, 25);
	this->kill_both = seed_chance(&choice, 33);
	this->how = AT_POINT;
	if (seed_chance(&choice, 25)) {
		this->how = AT_ANY_MOMENT;
		this->microseconds = seed_below(&choice, 20000);
	} else if (seed_chance(&choice, 25)) {
		this->how = AFTER_INSTRUCTIONS;
		this->pass = 1 + seed_below(&choice, this->torture->steps);
		/* Short calls take some thousand, a commit many more. */
		this->instructions = seed_chance(&choice, 80) ?
			seed_below(&choice, 6000) :
			seed_below(&choice, 60000);
	}
}

static void tell_points(void)
{
	uint32_t never = 0;
	uint32_t i;

	for (i = 0; i < shared->points; i++) {
		if (shared->kills[i] == 0) {
			never++;
			printf("  never killed at: %s\n", shared->point[i]);
		}
	}
	printf("%u kill points, %u of them without a kill\n", shared->points,
	       never);
}

void torture_kill(struct torture *torture)
{
	struct case_of this = {.torture = torture, .seed = 1};
	char problem[TREE_PROBLEM_SIZE] = "";
	uint64_t kills = 0;
	uint64_t i;

	shared = torture_shared(sizeof(*shared));
	snprintf(this.image, sizeof(this.image), "%s/image",
		 torture->directory);
	if (!torture_in_child(calibrate, &this, 60, problem)) {
		torture_fail(torture, torture->seed, TORTURE_ALL_CASES, "",
			     "without any kill: %s", problem);
		return;
	}
	for (i = 0; i < torture->runs; i++) {
		bool killed = false;

		if (torture_time_is_up(torture)) {
			break;
		}
		this.seed = torture->seed + i;
		choose_case(&this);
		if (run_case(&this, &killed, problem)) {
			torture_pass(torture);
		} else {
			torture_fail(torture, this.seed, TORTURE_ALL_CASES,
				     "", "killed %s (pass %llu of \"%s\"; %llu "
				     "instructions) in %.120s%s: %s",
				     how_names[this.how],
				     (unsigned long long)this.pass,
				     shared->point[this.point],
				     (unsigned long long)this.instructions,
				     shared->victim.call,
				     this.kill_both ?
				     ", the other one, too" : "", problem);
		}
		if (killed) {
			kills++;
			shared->how[this.how]++;
			if (this.how == AT_POINT) {
				shared->kills[this.point]++;
			}
		}
		torture_progress(torture, "%llu of %llu cases, %llu kills, "
				 "worst wait %llu ms",
				 (unsigned long long)i + 1,
				 (unsigned long long)torture->runs,
				 (unsigned long long)kills,
				 (unsigned long long)shared->worst);
	}
	tell_points();
	for (i = 0; i < HOWS; i++) {
		printf("  killed %s: %llu\n", how_names[i],
		       (unsigned long long)shared->how[i]);
	}
	printf("kills: %llu; the survivor went on within %llu ms at worst, "
	       "%llu times later than %u ms\n", (unsigned long long)kills,
	       (unsigned long long)shared->worst,
	       (unsigned long long)shared->slow, PATIENCE);
}
